#!/usr/bin/env python3
"""The Compose file hangs together with the files beside it: what is mounted is there, what is scraped has that name, each
profile has one Glint, of the one image that a package makes. `docker compose config` looks at it too, where that is installed."""

import os
import re
import shutil
import subprocess

from stack import ROOT, skip

try:
    import yaml
except ImportError:
    skip("python3-yaml is not installed")

FOLDER = os.path.join(ROOT, "deploy/compose")
# What the Compose specification calls them; a misspelled key would be an unknown one.
SERVICE = {"image", "build", "profiles", "restart", "read_only", "tmpfs", "cap_drop", "security_opt", "stop_grace_period",
           "ports", "container_name", "deploy", "runtime", "volumes", "environment", "command", "mem_limit", "network_mode"}


def load(*path):
    with open(os.path.join(*path)) as f:
        return yaml.safe_load(f)


def check_glint(name, service, drain_seconds=10):
    assert service["read_only"] and service["cap_drop"] == ["ALL"], name
    assert service["security_opt"] == ["no-new-privileges:true"], name
    assert int(service["stop_grace_period"].rstrip("s")) > drain_seconds, name
    assert service["container_name"] == "glint", name
    for port in service["ports"]:
        assert port.startswith("127.0.0.1:"), f"{name}: {port} is open to the network"


def check_ros2(service):
    """A node is on the host's network, as nodes of ROS 2 expect, and may do nothing else."""
    assert service["profiles"] == ["ros2"] and service["network_mode"] == "host" and "ports" not in service
    assert service["read_only"] and service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["environment"] == {"ROS_DOMAIN_ID": "${ROS_DOMAIN_ID:-0}"}
    (volume,) = service["volumes"]
    assert volume.endswith(":/etc/glint/glint-ros2.yaml:ro"), volume


def main():
    compose = load(FOLDER, "compose.yaml")
    services = compose["services"]
    for name, service in services.items():
        assert set(service) <= SERVICE, f"{name}: {set(service) - SERVICE}"
        for volume in service.get("volumes", []):
            volume = re.sub(r"^\$\{\w+:-(.*?)\}", r"\1", volume)  # as it is by default
            source, target, *mode = volume.split(":")
            assert target.startswith("/"), volume
            if source.startswith("."):
                assert os.path.exists(os.path.join(FOLDER, source)) and mode == ["ro"], f"{name}: {volume}"
            else:
                assert source in compose["volumes"], f"{name}: {volume}"

    glints = {name: service for name, service in services.items() if service["image"] == "glint:package"}
    assert sorted(service["profiles"][0] for service in glints.values()) == ["cpu", "gpu", "jetson"]
    for name, service in glints.items():
        check_glint(name, service)
    check_ros2(services["glint-ros2"])
    assert services["glint-jetson"]["runtime"] == "nvidia"
    assert services["glint-gpu"]["deploy"]["resources"]["reservations"]["devices"][0]["driver"] == "nvidia"

    # Prometheus scrapes the container by its name; Grafana asks that Prometheus, and finds the dashboard where it is mounted.
    (job,) = load(ROOT, "deploy/prometheus/prometheus.yml")["scrape_configs"]
    assert job["job_name"] == "glint" and job["static_configs"][0]["targets"] == ["glint:9464"]
    (source,) = load(FOLDER, "grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert source["url"] == "http://prometheus:9090" and "prometheus" in services
    (provider,) = load(FOLDER, "grafana/provisioning/dashboards/glint.yaml")["providers"]
    mounts = dict(volume.split(":")[1::-1] for volume in services["grafana"]["volumes"])
    assert mounts[provider["options"]["path"]] == "../grafana"
    dashboard = load(ROOT, "deploy/grafana/glint.json")
    used = {panel["datasource"]["uid"] for panel in dashboard["panels"] if "datasource" in panel}
    assert all(uid == source["uid"] or uid.startswith("$") for uid in used), used
    rules = [volume for volume in services["prometheus"]["volumes"] if "glint.rules.yml" in volume]
    assert len(rules) == 1 and rules[0].split(":")[1] == "/etc/prometheus/glint.rules.yml"

    docker = shutil.which("docker")
    if docker and subprocess.run([docker, "compose", "version"], capture_output=True).returncode == 0:
        for profile in ("cpu", "gpu", "jetson", "ros2"):
            subprocess.run([docker, "compose", "-f", os.path.join(FOLDER, "compose.yaml"), "--profile", profile, "config",
                            "--quiet"], check=True)
        print("docker compose accepts it")
    print(f"{len(services)} services")


if __name__ == "__main__":
    main()
