// Molecular docking by energy evaluation: every pose turns and moves a ligand, and its energy against a protein is
// the sum over all pairs of atoms of a steric, a charge and a desolvation term, each zero or constant beyond a
// distance (McIntosh-Smith et al., High performance in silico virtual drug screening on many-core processors, 2015;
// the proxy is known as miniBUDE). A work item evaluates several poses, so that an atom that it has loaded serves
// all of them; the force field's parameters of the atom types are in shared memory.
constexpr int ATOM_TYPES = 32;
constexpr float ZERO = 0.0f, QUARTER = 0.25f, HALF = 0.5f, ONE = 1.0f, TWO = 2.0f, FOUR = 4.0f;
constexpr float CUTOFF = 4.0f, POLAR_CUTOFF = 5.5f, HARDNESS = 38.0f, CHARGE = 45.0f, FAR = 1.0e3f;

struct Atom {
    float x, y, z;
    int type;
};

// 0 is no hydrogen-bonding partner; donors and acceptors (1, 2) attract or repel with a limited charge.
struct Parameters {
    int bonding;
    float radius, hydrophobicity, charge;
};

template <int POSES>
__device__ void energies(const Atom *protein, const Atom *ligand, const float *poses, const Parameters *field,
                         float *results, int protein_atoms, int ligand_atoms, int count)
{
    __shared__ Parameters forces[ATOM_TYPES];
    if (threadIdx.x < ATOM_TYPES)
        forces[threadIdx.x] = field[threadIdx.x];
    __syncthreads();

    // A work item takes every blockDim.x-th pose of its block.
    const int first = blockIdx.x * blockDim.x * POSES + threadIdx.x;
    float transform[POSES][3][4], energy[POSES];
#pragma unroll
    for (int p = 0; p < POSES; p++) {
        const int pose = min(first + p * int(blockDim.x), count - 1);
        const float sx = sinf(poses[0 * count + pose]), cx = cosf(poses[0 * count + pose]);
        const float sy = sinf(poses[1 * count + pose]), cy = cosf(poses[1 * count + pose]);
        const float sz = sinf(poses[2 * count + pose]), cz = cosf(poses[2 * count + pose]);
        transform[p][0][0] = cy * cz;
        transform[p][0][1] = fmaf(sx * sy, cz, -cx * sz);
        transform[p][0][2] = fmaf(cx * sy, cz, sx * sz);
        transform[p][0][3] = poses[3 * count + pose];
        transform[p][1][0] = cy * sz;
        transform[p][1][1] = fmaf(sx * sy, sz, cx * cz);
        transform[p][1][2] = fmaf(cx * sy, sz, -sx * cz);
        transform[p][1][3] = poses[4 * count + pose];
        transform[p][2][0] = -sy;
        transform[p][2][1] = sx * cy;
        transform[p][2][2] = cx * cy;
        transform[p][2][3] = poses[5 * count + pose];
        energy[p] = ZERO;
    }

    for (int l = 0; l < ligand_atoms; l++) {
        const Atom atom = ligand[l];
        const Parameters own = forces[atom.type];
        const bool own_hydrophobic = own.hydrophobicity < ZERO;
        float x[POSES], y[POSES], z[POSES];
#pragma unroll
        for (int p = 0; p < POSES; p++) {
            const float(&m)[3][4] = transform[p];
            x[p] = fmaf(atom.x, m[0][0], fmaf(atom.y, m[0][1], fmaf(atom.z, m[0][2], m[0][3])));
            y[p] = fmaf(atom.x, m[1][0], fmaf(atom.y, m[1][1], fmaf(atom.z, m[1][2], m[1][3])));
            z[p] = fmaf(atom.x, m[2][0], fmaf(atom.y, m[2][1], fmaf(atom.z, m[2][2], m[2][3])));
        }
        for (int a = 0; a < protein_atoms; a++) {
            const Atom other = protein[a];
            const Parameters its = forces[other.type];
            const float radii = its.radius + own.radius;
            const float inverse_radii = ONE / radii;
            const float cutoff = its.bonding && own.bonding ? POLAR_CUTOFF : CUTOFF;
            const float inverse_cutoff = ONE / cutoff;
            const bool its_hydrophobic = its.hydrophobicity < ZERO;
            // Desolvation counts between a hydrophobic and another atom; its reach depends on the second one.
            const bool mixed = own_hydrophobic != its_hydrophobic;
            const float reach = mixed ? CUTOFF : own_hydrophobic ? POLAR_CUTOFF : -FAR;
            const float inverse_reach = ONE / reach;
            const float charge = CHARGE * own.charge * its.charge;
            const float desolvation = HALF * (own.hydrophobicity + its.hydrophobicity);
#pragma unroll
            for (int p = 0; p < POSES; p++) {
                const float dx = x[p] - other.x, dy = y[p] - other.y, dz = z[p] - other.z;
                const float distance = sqrtf(fmaf(dx, dx, fmaf(dy, dy, dz * dz)));
                const float gap = distance - radii;
                const bool overlap = gap < ZERO;
                energy[p] += (ONE - distance * inverse_radii) * (overlap ? TWO * HARDNESS : ZERO);
                float coulomb = charge * ((overlap ? ONE : ONE - gap * inverse_cutoff) * (gap < cutoff ? ONE : ZERO));
                const float magnitude = fabsf(coulomb);
                coulomb = its.bonding && own.bonding && its.bonding != own.bonding ? -magnitude : coulomb;
                energy[p] += coulomb;
                const float share = overlap ? ONE : ONE - gap * inverse_reach;
                energy[p] += desolvation * (gap < reach ? share : ZERO);
            }
        }
    }
#pragma unroll
    for (int p = 0; p < POSES; p++) {
        const int pose = first + p * int(blockDim.x);
        if (pose < count)
            results[pose] = energy[p] * HALF;
    }
}

extern "C" __global__ void minibude_1(const Atom *protein, const Atom *ligand, const float *poses,
                                      const Parameters *field, float *results, int protein_atoms, int ligand_atoms,
                                      int count)
{
    energies<1>(protein, ligand, poses, field, results, protein_atoms, ligand_atoms, count);
}

extern "C" __global__ void minibude_4(const Atom *protein, const Atom *ligand, const float *poses,
                                      const Parameters *field, float *results, int protein_atoms, int ligand_atoms,
                                      int count)
{
    energies<4>(protein, ligand, poses, field, results, protein_atoms, ligand_atoms, count);
}

// Places atoms in a box with types, and gives the types their parameters, out of random bits.
extern "C" __global__ void minibude_setup(const unsigned *bits, Atom *protein, Atom *ligand, Parameters *field,
                                          int protein_atoms, int ligand_atoms)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned draw = bits[i];
    const float x = float(draw & 255u), y = float((draw >> 8) & 255u), z = float((draw >> 16) & 255u);
    const int type = int(draw >> 24) % ATOM_TYPES;
    if (i < protein_atoms)
        protein[i] = {fmaf(x, 0.125f, -16.0f), fmaf(y, 0.125f, -16.0f), fmaf(z, 0.125f, -16.0f), type};
    if (i < ligand_atoms)
        ligand[i] = {fmaf(y, 0.03125f, -4.0f), fmaf(z, 0.03125f, -4.0f), fmaf(x, 0.03125f, -4.0f), type};
    if (i < ATOM_TYPES)
        field[i] = {int(draw % 3u), fmaf(x, 0.00390625f, 1.0f), fmaf(y, 0.0078125f, -1.0f),
                    i % 2 ? fmaf(z, 0.00390625f, -0.5f) : 0.0f};
}
