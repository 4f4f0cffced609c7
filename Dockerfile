# The command in a container: `docker build -t behavesim .`, then docs/how-to/install.md.
FROM python:3.11-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel /source

FROM python:3.11-slim
COPY --from=build /wheel /wheel
RUN pip install --no-cache-dir /wheel/*.whl && useradd --create-home --uid 1000 person
USER 1000
WORKDIR /home/person
ENTRYPOINT ["behavesim"]
