#!/usr/bin/env python3
"""The overlays render, and what they render hangs together: as much as can be said without a cluster."""

import os
import re
import subprocess
import sys

from stack import ROOT, need, skip

try:
    import yaml
except ImportError:
    skip("python3-yaml is not installed")

# kind: (apiVersion, fields that its spec must have, all fields that it may have)
KINDS = {
    "Namespace": ("v1", set(), set()),
    "Deployment": ("apps/v1", {"selector", "template"},
                   {"replicas", "selector", "template", "strategy", "minReadySeconds", "progressDeadlineSeconds"}),
    "Service": ("v1", {"selector", "ports"}, {"clusterIP", "selector", "ports", "type"}),
    "PodDisruptionBudget": ("policy/v1", {"selector"}, {"maxUnavailable", "minAvailable", "selector"}),
    "HorizontalPodAutoscaler": ("autoscaling/v2", {"scaleTargetRef", "maxReplicas", "metrics"},
                                {"scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior"}),
    "ServiceMonitor": ("monitoring.coreos.com/v1", {"selector", "endpoints"}, {"jobLabel", "selector", "endpoints"}),
    "NetworkPolicy": ("networking.k8s.io/v1", {"podSelector"}, {"podSelector", "policyTypes", "ingress", "egress"}),
}
PROBE = {"grpc", "httpGet", "exec", "tcpSocket", "initialDelaySeconds", "periodSeconds", "timeoutSeconds",
         "failureThreshold", "successThreshold"}
CONTAINER = {"name", "image", "args", "command", "ports", "env", "startupProbe", "readinessProbe", "livenessProbe",
             "lifecycle", "securityContext", "resources", "volumeMounts", "imagePullPolicy"}
LABELS = {"app.kubernetes.io/name": "glint"}


def seconds(text):
    number, unit = re.fullmatch(r"([0-9.]+)(ms|s|m)", text).groups()
    return float(number) * {"ms": 0.001, "s": 1, "m": 60}[unit]


def check_shape(resource):
    kind = resource["kind"]
    version, required, allowed = KINDS[kind]
    assert resource["apiVersion"] == version, kind
    assert resource["metadata"]["name"] == "glint", kind
    if kind != "Namespace":
        assert resource["metadata"]["namespace"] == "glint", kind
    fields = set(resource.get("spec") or {})
    assert required <= fields, f"{kind} lacks {required - fields}"
    assert fields <= allowed, f"{kind} has {fields - allowed}"


def flags_of_server(server):
    text = subprocess.run([server, "--help"], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"^  --([a-z-]+)", text, re.MULTILINE))


def check_deployment(deployment, flags):
    spec = deployment["spec"]
    pod = spec["template"]["spec"]
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    (container,) = pod["containers"]
    assert set(container) <= CONTAINER, set(container) - CONTAINER
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert set(container[probe]) <= PROBE, probe
    assert container["readinessProbe"]["grpc"]["port"] == 50051

    arguments = dict(re.fullmatch(r"--([a-z-]+)=(.*)", argument).groups() for argument in container["args"])
    assert set(arguments) <= flags, f"glint-server has no {set(arguments) - flags}"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert arguments["listen"].endswith(f":{ports['grpc']}")
    assert arguments["metrics-listen"].endswith(f":{ports['metrics']}")

    pre_stop = float(container["lifecycle"]["preStop"]["exec"]["command"][-1])
    drain = seconds(arguments["drain-timeout"])
    assert pod["terminationGracePeriodSeconds"] > pre_stop + drain
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    confined = container["securityContext"]
    assert confined["readOnlyRootFilesystem"] and not confined["allowPrivilegeEscalation"]
    assert confined["capabilities"]["drop"] == ["ALL"]
    return container


def check_overlay(name, flags):
    text = subprocess.run(["kubectl", "kustomize", os.path.join(ROOT, "deploy/kubernetes/overlays", name)],
                          check=True, capture_output=True, text=True).stdout
    resources = {resource["kind"]: resource for resource in yaml.safe_load_all(text)}
    assert set(resources) == set(KINDS), set(resources) ^ set(KINDS)
    for resource in resources.values():
        check_shape(resource)
    container = check_deployment(resources["Deployment"], flags)
    named = {port["name"] for port in container["ports"]}
    service = resources["Service"]["spec"]
    assert service["selector"] == LABELS and {port["targetPort"] for port in service["ports"]} <= named
    for kind in ("PodDisruptionBudget", "ServiceMonitor"):
        assert resources[kind]["spec"]["selector"]["matchLabels"] == LABELS, kind
    assert resources["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == "glint"
    assert resources["ServiceMonitor"]["spec"]["endpoints"][0]["port"] in {port["name"] for port in service["ports"]}
    for rule in resources["NetworkPolicy"]["spec"]["ingress"]:
        assert rule["ports"][0]["port"] in named
    return resources, container


def main():
    need("kubectl")
    flags = flags_of_server(sys.argv[1])
    cpu, container = check_overlay("cpu", flags)
    assert "--backend=cpu" in container["args"]
    jetson, container = check_overlay("jetson", flags)
    assert "--backend=cuda" in container["args"] and container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert jetson["Deployment"]["spec"]["template"]["spec"]["runtimeClassName"] == "nvidia"
    assert cpu["Deployment"]["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0

    # The metric that the autoscaler asks for is one that the adapter makes of a recording rule that exists.
    metric = cpu["HorizontalPodAutoscaler"]["spec"]["metrics"][0]["pods"]["metric"]["name"]
    with open(os.path.join(ROOT, "deploy/kubernetes/prometheus-adapter.yaml")) as f:
        (rule,) = yaml.safe_load(f)["rules"]["custom"]
    assert rule["name"]["as"] == metric
    with open(os.path.join(ROOT, "deploy/prometheus/glint.rules.yml")) as f:
        assert f"record: {rule['seriesQuery'].split('{')[0]}\n" in f.read()
    print("cpu and jetson render")


if __name__ == "__main__":
    main()
