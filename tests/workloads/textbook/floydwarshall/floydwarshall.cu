// Shortest paths between all pairs of nodes (Floyd, 1962; Warshall, 1962): one launch per intermediate node. A thread
// updates one pair; the distance to the intermediate node is the same for a row.
extern "C" __global__ void floyd_step(int *distances, int *via, int nodes, int middle)
{
    const int to = blockIdx.x * blockDim.x + threadIdx.x;
    const int from = blockIdx.y * blockDim.y + threadIdx.y;
    if (to >= nodes || from >= nodes)
        return;
    const int around = distances[from * nodes + middle] + distances[middle * nodes + to];
    if (around < distances[from * nodes + to]) {
        distances[from * nodes + to] = around;
        via[from * nodes + to] = middle;
    }
}

// The blocked variant (Katz and Kider, 2008) for tiles of 16 x 16, in shared memory: tile (round, round) alone, then
// its row and column, then all others.
constexpr int TILE = 16;

extern "C" __global__ void __launch_bounds__(TILE * TILE) floyd_diagonal(int *distances, int nodes, int round)
{
    __shared__ int tile[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    int *own = distances + (round * TILE + y) * nodes + round * TILE + x;
    tile[y][x] = *own;
    __syncthreads();
    for (int k = 0; k < TILE; k++) {
        const int around = tile[y][k] + tile[k][x];
        __syncthreads();
        tile[y][x] = min(tile[y][x], around);
        __syncthreads();
    }
    *own = tile[y][x];
}

// blockIdx.y: 0 for tiles of the row, 1 for those of the column.
extern "C" __global__ void __launch_bounds__(TILE * TILE) floyd_cross(int *distances, int nodes, int round)
{
    __shared__ int diagonal[TILE][TILE], tile[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int other = blockIdx.x < round ? blockIdx.x : blockIdx.x + 1;
    const bool column = blockIdx.y == 1;
    diagonal[y][x] = distances[(round * TILE + y) * nodes + round * TILE + x];
    const int row_tile = column ? other : round, column_tile = column ? round : other;
    int *own = distances + (row_tile * TILE + y) * nodes + column_tile * TILE + x;
    tile[y][x] = *own;
    __syncthreads();
    for (int k = 0; k < TILE; k++) {
        const int around = column ? tile[y][k] + diagonal[k][x] : diagonal[y][k] + tile[k][x];
        __syncthreads();
        tile[y][x] = min(tile[y][x], around);
        __syncthreads();
    }
    *own = tile[y][x];
}

extern "C" __global__ void __launch_bounds__(TILE * TILE) floyd_rest(int *distances, int nodes, int round)
{
    __shared__ int to_round[TILE][TILE], from_round[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row_tile = blockIdx.y < round ? blockIdx.y : blockIdx.y + 1;
    const int column_tile = blockIdx.x < round ? blockIdx.x : blockIdx.x + 1;
    to_round[y][x] = distances[(row_tile * TILE + y) * nodes + round * TILE + x];
    from_round[y][x] = distances[(round * TILE + y) * nodes + column_tile * TILE + x];
    int *own = distances + (row_tile * TILE + y) * nodes + column_tile * TILE + x;
    int least = *own;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; k++)
        least = min(least, to_round[y][k] + from_round[k][x]);
    *own = least;
}
