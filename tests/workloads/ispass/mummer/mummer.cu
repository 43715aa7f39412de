// Exact matches of short reads in a long text through its suffix tree, in the manner of MUMmerGPU (Schatz et al.,
// 2007). Here the tree is that of all words of DEPTH letters, so that it can be built on the device: a node has four
// children and the number of its word's occurrences. A thread walks one read: from every start it follows
// children, fetched through a texture of nodes, until a letter has no child.
constexpr int DEPTH = 6;

// Children of nodes of one level lie one after the other: node n of level l + 1 is word n of l + 1 letters.
__device__ int first_node(int level)
{
    // 1 + 4 + 16 + … nodes come before a level.
    return ((1 << (2 * level)) - 1) / 3;
}

// Counts the words of every length that begin at each letter of the text.
extern "C" __global__ void mummer_build(const unsigned char *text, int *nodes, int letters)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= letters)
        return;
    int word = 0;
    for (int level = 1; level <= DEPTH && at + level <= letters; level++) {
        word = 4 * word + (text[at + level - 1] & 3);
        atomicAdd(&nodes[first_node(level) + word], 1);
    }
}

// For each start in a read: length of the longest prefix that occurs in the text at most `most` times or is as deep
// as the tree; shorter ones than `least` are no matches.
extern "C" __global__ void mummer_match(cudaTextureObject_t tree, const unsigned char *reads, int *lengths,
                                        int count, int read_letters, int least)
{
    const int read = blockIdx.x * blockDim.x + threadIdx.x;
    if (read >= count)
        return;
    const unsigned char *letters = reads + read * read_letters;
    for (int start = 0; start < read_letters; start++) {
        int word = 0, length = 0;
        while (length < DEPTH && start + length < read_letters) {
            const int next = 4 * word + (letters[start + length] & 3);
            if (tex1Dfetch<int>(tree, first_node(length + 1) + next) == 0)
                break;
            word = next;
            length++;
        }
        lengths[start * count + read] = length >= least ? length : 0;
    }
}
