# syntax=docker/dockerfile:1
# Warplab in a container: programs, CUDA libraries, bundled workloads and examples in /opt/warplab.
#
#   docker build -t warplab .
#   docker run --rm -v "$PWD:/work" --user "$(id -u):$(id -g)" warplab emu record app.ptx
#
# CUDA programs run likewise (emu record -- ./app); nvcc is not in it.

FROM rust:1.89-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked -p warplab-emulator -p warplab-cuda -p warplab-timing -p warplab-tools
RUN BUILT=target/release tools/scripts/install.sh /opt/warplab \
    && strip --strip-unneeded /opt/warplab/bin/* /opt/warplab/lib/warplab/*.so.* \
    && mkdir -p /opt/warplab/tests \
    && cp -R tests/workloads /opt/warplab/tests/ \
    && cp -R examples README.md LICENSE-APACHE LICENSE-MIT CITATION.cff /opt/warplab/

FROM debian:bookworm-slim
COPY --from=build /opt/warplab /opt/warplab
ENV PATH=/opt/warplab/bin:$PATH
WORKDIR /work
USER 1000:1000
RUN emu record /opt/warplab/tests/workloads/textbook/vectoradd/vectoradd.ptx -o /tmp/vectoradd.wtrace \
    && timing replay /tmp/vectoradd.wtrace --tech bow > /dev/null \
    && rm /tmp/vectoradd.wtrace
CMD ["emu", "--help"]
