// Breadth-first search over a graph in compressed sparse rows, one level per pair of launches:
// bfs_expand marks the unvisited neighbours of the frontier, bfs_update makes them the next frontier.
// Several threads may reach one node at once; all of them write the same values.

// Out-degrees repeat with period 8 (2, 5, 1, 8, 3, 6, 4, 11), so row offsets need no prefix sum.
#define PERIOD 8
#define EDGES_PER_PERIOD 40
__constant__ int first_edge[PERIOD] = {0, 2, 7, 8, 16, 19, 25, 29};

__device__ __forceinline__ int row_offset(int node)
{
    return node / PERIOD * EDGES_PER_PERIOD + first_edge[node % PERIOD];
}

// Writes the row offsets (nodes + 1 of them), brings random edge targets into the range of nodes and puts
// the search at `source`. Needs a thread per edge slot.
extern "C" __global__ void bfs_setup(int *row_offsets, unsigned *edges, int *level, unsigned char *frontier,
                                     unsigned char *visited, int nodes, int edge_slots, int source)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < edge_slots)
        edges[node] %= (unsigned)nodes;
    if (node <= nodes)
        row_offsets[node] = row_offset(node);
    if (node < nodes) {
        bool start = node == source;
        level[node] = start ? 0 : -1;
        frontier[node] = start;
        visited[node] = start;
    }
}

extern "C" __global__ void bfs_expand(const int *row_offsets, const unsigned *edges, unsigned char *frontier,
                                      unsigned char *next, const unsigned char *visited, int *level,
                                      int nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || !frontier[node])
        return;

    frontier[node] = 0;
    int reached = level[node] + 1;
    int end = row_offsets[node + 1];
    for (int e = row_offsets[node]; e < end; e++) {
        unsigned neighbour = edges[e];
        if (!visited[neighbour]) {
            level[neighbour] = reached;
            next[neighbour] = 1;
        }
    }
}

// frontier_sizes[depth] counts the nodes that this level reached.
extern "C" __global__ void bfs_update(unsigned char *frontier, unsigned char *next, unsigned char *visited,
                                      int *frontier_sizes, int depth, int nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && next[node]) {
        next[node] = 0;
        frontier[node] = 1;
        visited[node] = 1;
        atomicAdd(&frontier_sizes[depth], 1);
    }
}
