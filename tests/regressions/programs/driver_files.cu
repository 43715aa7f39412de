// What JAX looks for before it uses a GPU: files of the driver, and a handle of cuDNN.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

static int failures = 0;
static void expect(bool right, const char *what) {
    if (right) return;
    printf("FAIL %s\n", what);
    failures++;
}

int main() {
    struct stat found;
    expect(stat("/dev/nvidia0", &found) == 0 && S_ISCHR(found.st_mode), "stat of the device");
    expect(stat("/dev/nvidiactl", &found) == 0 && access("/dev/nvidiactl", F_OK) == 0, "the control device");
    errno = 0;
    expect(stat("/dev/nvidia1", &found) == -1 && errno == ENOENT, "no second device");
    errno = 0;
    expect(access("/dev/nvidia9", F_OK) == -1 && errno == ENOENT, "no tenth device");
    expect(stat("/proc/self/exe", &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 1000, "a file that exists");
    errno = 0;
    expect(stat("/proc/self/exe/x", &found) == -1 && errno == ENOTDIR, "a path through a file");
    errno = 0;
    expect(stat((const char *)8, &found) == -1 && errno == EFAULT, "a wild pointer");
    errno = 0;
    expect(stat("/dev/nvidia0", (struct stat *)8) == -1 && errno == EFAULT, "a wild result");

    void *library = dlopen("libcudnn.so.9", RTLD_NOW);
    if (!library) {
        printf("FAIL %s\n", dlerror());
        return 1;
    }
    auto version = (size_t(*)())dlsym(library, "cudnnGetVersion");
    auto create = (int (*)(void **))dlsym(library, "cudnnCreate");
    auto destroy = (int (*)(void *))dlsym(library, "cudnnDestroy");
    auto descriptor = (int (*)(void **))dlsym(library, "cudnnCreateTensorDescriptor");
    auto text = (const char *(*)(int))dlsym(library, "cudnnGetErrorString");
    if (!version || !create || !destroy || !descriptor || !text) {
        printf("FAIL a function of cuDNN is missing\n");
        return 1;
    }
    void *handle = nullptr;
    expect(version() >= 90000 && version() < 100000, "cuDNN 9");
    expect(create(&handle) == 0 && handle && destroy(handle) == 0, "a handle of cuDNN");
    expect(!strcmp(text(descriptor(&handle)), "CUDNN_STATUS_NOT_SUPPORTED"), "an operation of cuDNN is refused");
    if (!failures) printf("PASS\n");
    return failures != 0;
}
