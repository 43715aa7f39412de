// Searches in a B+tree (after Rodinia's b+tree): a block follows one query from the root to a leaf, its threads
// compare the query with all keys of a node at once, and the one whose interval holds it writes the next node. The
// second kernel follows both ends of a range. Nodes are records with arrays, as in the original.
constexpr int ORDER = 256;

struct Node {
    int location;
    int indices[ORDER + 1];
    int keys[ORDER + 1];
    int is_leaf;
    int count;
};

// Builds a tree of three levels over the keys 0, 4, 8, … of `records` records, full to `fan` entries per node. Node 0
// is the root, then come its children, then the leaves. A thread builds a node.
extern "C" __global__ void btree_setup(Node *nodes, int records, int fan, int inner, int leaves)
{
    const int at = blockIdx.x;
    Node *node = nodes + at;
    const bool leaf = at > inner;
    // Records below an entry of this node, and the first record of the node.
    const int below = at == 0 ? fan * fan : leaf ? 1 : fan;
    const int number = at == 0 ? 0 : leaf ? at - inner - 1 : at - 1;
    const int first_child = at == 0 ? 1 : inner + 1 + number * fan;
    const int first = number * below * fan;
    for (int i = threadIdx.x; i <= ORDER; i += blockDim.x) {
        const int record = first + i * below;
        const bool inside = i < fan && record < records;
        // The first key of inner nodes is below all others.
        node->keys[i] = inside ? (record == 0 && !leaf ? -1 : 4 * record) : 0x7fffffff;
        node->indices[i] = inside ? (leaf ? record : first_child + i) : -1;
    }
    if (threadIdx.x == 0) {
        node->location = at;
        node->is_leaf = leaf;
        node->count = min(fan, (records - first + below - 1) / below);
    }
}

extern "C" __global__ void btree_find(const Node *nodes, const int *queries, const int *records, int *answers, int height)
{
    __shared__ int current;
    const int thread = threadIdx.x;
    const int query = queries[blockIdx.x];
    if (thread == 0)
        current = 0;
    __syncthreads();
    for (int level = 0; level < height; level++) {
        const Node &node = nodes[current];
        const bool mine = node.keys[thread] <= query && node.keys[thread + 1] > query;
        const int next = mine ? node.indices[thread] : -1;
        __syncthreads();
        if (mine)
            current = next;
        __syncthreads();
    }
    // The last node is a leaf.
    const Node &leaf = nodes[current];
    if (leaf.keys[thread] == query)
        answers[blockIdx.x] = records[leaf.indices[thread]];
}

extern "C" __global__ void btree_range(const Node *nodes, const int *starts, const int *lengths, int *firsts,
                                       int *counts, int height)
{
    __shared__ int left, right, first;
    const int thread = threadIdx.x;
    const int low = starts[blockIdx.x], high = low + lengths[blockIdx.x];
    if (thread == 0) {
        left = 0;
        right = 0;
        first = -1;
    }
    __syncthreads();
    for (int level = 0; level < height; level++) {
        const Node &from = nodes[left];
        const Node &to = nodes[right];
        const bool holds_low = from.keys[thread] <= low && from.keys[thread + 1] > low;
        const bool holds_high = to.keys[thread] <= high && to.keys[thread + 1] > high;
        const int next_left = holds_low ? from.indices[thread] : -1;
        const int next_right = holds_high ? to.indices[thread] : -1;
        __syncthreads();
        if (holds_low)
            left = next_left;
        if (holds_high)
            right = next_right;
        __syncthreads();
    }
    // The first record that is not below the range, and the number up to its end.
    if (nodes[left].keys[thread] <= low && nodes[left].keys[thread + 1] > low)
        first = nodes[left].indices[thread] + (nodes[left].keys[thread] < low ? 1 : 0);
    __syncthreads();
    if (nodes[right].keys[thread] <= high && nodes[right].keys[thread + 1] > high) {
        firsts[blockIdx.x] = first;
        counts[blockIdx.x] = nodes[right].indices[thread] - first + 1;
    }
}
