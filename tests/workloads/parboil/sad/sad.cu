// Motion search of video coding: for every 4 x 4 square of the current frame, the sum of absolute
// differences against the reference frame at each displacement of -RADIUS..RADIUS in x and y (coordinates
// are clamped to the frame), and the best displacement. One block per square, one thread per displacement.
#define SIDE 4
#define RADIUS 4
#define REACH (2 * RADIUS + 1)
#define CANDIDATES (REACH * REACH)

extern "C" __global__ void sad4x4(const unsigned char *current, const unsigned char *reference,
                                  unsigned short *sads, unsigned *best, int width, int height)
{
    __shared__ unsigned char square[SIDE * SIDE];
    __shared__ unsigned winner;

    int tid = threadIdx.x;
    int left = blockIdx.x * SIDE;
    int top = blockIdx.y * SIDE;
    int number = blockIdx.y * gridDim.x + blockIdx.x;

    if (tid < SIDE * SIDE)
        square[tid] = current[(top + tid / SIDE) * width + left + tid % SIDE];
    if (tid == 0)
        winner = 0xffffffffu;
    __syncthreads();

    if (tid < CANDIDATES) {
        int dx = tid % REACH - RADIUS;
        int dy = tid / REACH - RADIUS;
        unsigned sum = 0;
        for (int y = 0; y < SIDE; y++) {
            int row = min(max(top + dy + y, 0), height - 1);
            for (int x = 0; x < SIDE; x++) {
                int col = min(max(left + dx + x, 0), width - 1);
                sum = __usad(square[y * SIDE + x], reference[row * width + col], sum);
            }
        }
        sads[number * CANDIDATES + tid] = (unsigned short)sum;
        // The displacement in the low bits makes the first of equal candidates win.
        atomicMin(&winner, sum << 8 | (unsigned)tid);
    }
    __syncthreads();

    if (tid == 0)
        best[number] = winner;
}
