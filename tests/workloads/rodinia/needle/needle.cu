// Needleman-Wunsch alignment of two sequences: scores of a matrix whose cells depend on those above, to the left and
// above left. Tiles of 16 x 16 along an anti-diagonal are independent, one launch computes them; within a tile
// a warp's half walks the anti-diagonals, in shared memory.
constexpr int TILE = 16;

__device__ int best_of(int a, int b, int c)
{
    return max(max(a, b), c);
}

// Scores of residue pairs from a substitution table of 24 residues, and the borders of the matrix.
extern "C" __global__ void needle_setup(const int *table, const int *vertical, const int *horizontal, int *pairs,
                                        int *scores, int side, int penalty)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= side || column >= side)
        return;
    const int at = row * side + column;
    pairs[at] = row > 0 && column > 0 ? table[vertical[row] * 24 + horizontal[column]] : 0;
    if (row == 0 || column == 0)
        scores[at] = -(row + column) * penalty;
}

// Tiles (column, row) with column + row = diagonal; `first` is the first column.
extern "C" __global__ void __launch_bounds__(TILE)
    needle_diagonal(const int *pairs, int *scores, int side, int penalty, int diagonal, int first)
{
    __shared__ int tile[TILE + 1][TILE + 1];
    __shared__ int own[TILE][TILE];

    const int thread = threadIdx.x;
    const int tile_column = first + blockIdx.x;
    const int tile_row = diagonal - tile_column;
    const int corner = tile_row * TILE * side + tile_column * TILE;

    // Above and to the left are the edges of tiles that are done.
    if (thread == 0)
        tile[0][0] = scores[corner];
    tile[0][thread + 1] = scores[corner + thread + 1];
    tile[thread + 1][0] = scores[corner + (thread + 1) * side];
    for (int row = 0; row < TILE; row++)
        own[row][thread] = pairs[corner + (row + 1) * side + thread + 1];
    __syncthreads();

    for (int step = 0; step < 2 * TILE - 1; step++) {
        const int row = step - thread;
        if (row >= 0 && row < TILE) {
            tile[row + 1][thread + 1] = best_of(tile[row][thread] + own[row][thread],
                                                tile[row + 1][thread] - penalty, tile[row][thread + 1] - penalty);
        }
        __syncthreads();
    }
    for (int row = 0; row < TILE; row++)
        scores[corner + (row + 1) * side + thread + 1] = tile[row + 1][thread + 1];
}
