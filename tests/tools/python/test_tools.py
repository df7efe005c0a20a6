"""optimize and place: the same as the commands, from a path, bytes or an onnx.ModelProto."""

import json
import os
import pathlib
import signal
import threading
import time
import xml.etree.ElementTree

import pytest
import reverie
from conftest import run

QUICK = {"method": "greedy", "cost": "roofline:t4"}


def test_optimizing_is_the_same_as_by_the_command(model, tmp_path):
    result = reverie.optimize(model, **QUICK)
    result.save(tmp_path / "module.onnx")
    told = run(
        "optimize",
        model,
        "--method",
        "greedy",
        "--cost",
        "roofline:t4",
        "--quiet",
        "--json",
        "-o",
        tmp_path / "command.onnx",
    )
    line = json.loads(told.stdout.splitlines()[-1])
    assert (tmp_path / "module.onnx").read_bytes() == (tmp_path / "command.onnx").read_bytes()
    assert result.gain_percent == pytest.approx(line["file_improvement_percent"], abs=1e-9)
    assert result.gain_percent > 0 and result.gain_interval is None
    assert (result.source, result.method) == ("roofline:t4", "greedy")
    assert result.verified and result.agreement["inputs"] == line["verified"]["inputs"] == 2
    assert sum(result.rules.values()) == len(line["rewrites"])
    assert result.untouched == [] and not result.interrupted


def test_auto_settles_as_the_command_does(model):
    assert reverie.optimize(model, cost="roofline:t4", budget=2).method == "rulelist"
    assert (
        reverie.optimize(
            model, cost="roofline:t4", measured={"budget": 3, "seconds": 0.01}, machine="cpu"
        ).method
        == "surrogate"
    )


def test_a_model_may_be_bytes(model, tmp_path):
    content = pathlib.Path(model).read_bytes()
    from_path, from_bytes = (reverie.optimize(given, **QUICK) for given in (model, content))
    from_path.save(tmp_path / "path.onnx"), from_bytes.save(tmp_path / "bytes.onnx")
    assert (tmp_path / "path.onnx").read_bytes() == (tmp_path / "bytes.onnx").read_bytes()


def test_a_model_may_be_a_proto(model, tmp_path):
    onnx = pytest.importorskip("onnx", minversion="1.0")
    result = reverie.optimize(onnx.load(model), **QUICK)
    result.save(tmp_path / "better.onnx")
    onnx.checker.check_model(str(tmp_path / "better.onnx"))
    plan = reverie.place(onnx.load(model), devices="2xv100-nvlink", evaluations=10)
    assert {node.name for node in onnx.load(model).graph.node} <= set(plan.device_of)


def notes_of(onnx, node):
    """metadata_props, which the protobuf of older versions of onnx does not know by name."""
    if hasattr(node, "metadata_props"):
        return {entry.key: entry.value for entry in node.metadata_props}
    entries = [onnx.StringStringEntryProto.FromString(field.data) for field in node.UnknownFields()]
    return {entry.key: entry.value for entry in entries}


def test_nodes_tell_their_rule_and_their_cost(model, tmp_path):
    onnx = pytest.importorskip("onnx", minversion="1.0")
    reverie.optimize(model, **QUICK).save(tmp_path / "better.onnx")
    told = [notes_of(onnx, node) for node in onnx.load(tmp_path / "better.onnx").graph.node]
    rules = {notes["reverie.rule"] for notes in told if "reverie.rule" in notes}
    assert rules and rules < set(reverie.optimize(model, **QUICK).rules)
    assert all(float(notes["reverie.cost_us"]) >= 0 for notes in told)
    assert {notes["reverie.cost_source"] for notes in told} == {"roofline:t4"}


def test_a_placed_model_tells_its_devices(model, tmp_path):
    onnx = pytest.importorskip("onnx", minversion="1.0")
    plan = reverie.place(onnx.load(model), devices="2xv100-nvlink", evaluations=10)
    plan.save(tmp_path / "placed.onnx")
    nodes = onnx.load(tmp_path / "placed.onnx").graph.node
    told = {node.name: notes_of(onnx, node)["reverie.device"] for node in nodes}
    assert told == {name: plan.device_of[name] for name in told} and len(told) == len(nodes)
    synthetic = reverie.place("generate:layers:100:1", "2xv100-nvlink", evaluations=2)
    with pytest.raises(reverie.InputError, match="generate:layers:100:1: is no ONNX model"):
        synthetic.save(tmp_path / "none.onnx")


def test_metadata_may_be_left_out(model, tmp_path):
    reverie.optimize(model, metadata=False, **QUICK).save(tmp_path / "module.onnx")
    arguments = ["--method", "greedy", "--cost", "roofline:t4", "--no-metadata", "--quiet"]
    run("optimize", model, *arguments, "-o", tmp_path / "command.onnx")
    content = (tmp_path / "module.onnx").read_bytes()
    assert content == (tmp_path / "command.onnx").read_bytes()
    assert b"reverie.cost_us" not in content


def test_simplifying_rewrites_nothing(model, tmp_path):
    result = reverie.optimize(model, method="simplify")
    assert (result.gain_percent, result.rules, result.verified) == (0, {}, False)
    result.save(tmp_path / "simple.onnx")
    assert (tmp_path / "simple.onnx").stat().st_size > 0


def test_untouched_nodes_have_a_reason(tmp_path):
    onnx = pytest.importorskip("onnx", minversion="1.0")
    make = onnx.helper
    value = lambda name: make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3])
    nodes = [
        make.make_node("Relu", ["x"], ["y"], "first"),
        make.make_node("Fused", ["y"], ["z"], "second", domain="com.example"),
    ]
    graph = make.make_graph(nodes, "g", [value("x")], [value("z")])
    imports = [make.make_opsetid("", 13), make.make_opsetid("com.example", 1)]
    result = reverie.optimize(make.make_model(graph, opset_imports=imports), **QUICK)
    ((name, operator, reason),) = result.untouched
    assert (name, operator) == ("second", "com.example::Fused") and reason


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"method": "tasso"}, "no solver 'tasso'; known are annealing"),
        ({"budgett": 3}, "unknown setting 'budgett'; did you mean 'budget'?"),
        ({"cost": "roofline:zz"}, "no device 'zz' for the roofline"),
        ({"method": "greedy", "taso": {"alpha": 1.2}}, "taso.alpha is an option of taso"),
        ({"without": ["nope"]}, "without: there is no rule 'nope'"),
        ({"shapes": {"nope": (1, 2)}}, "shape given for 'nope'"),
    ],
)
def test_wrong_arguments_are_one_line(model, arguments, message):
    with pytest.raises(reverie.InputError) as raised:
        reverie.optimize(model, **arguments)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_wrong_models_are_refused():
    with pytest.raises(reverie.InputError, match="nowhere.onnx: cannot be opened"):
        reverie.optimize("nowhere.onnx")
    with pytest.raises(ValueError, match="model.onnx"):
        reverie.optimize(b"no model")
    with pytest.raises(TypeError, match="not int"):
        reverie.optimize(3)


def test_nothing_unproved_is_written(model, tmp_path):
    result = reverie.optimize(model, verify_inputs=0, **QUICK)
    assert not result.verified
    with pytest.raises(reverie.InputError, match="verify_inputs=0"):
        result.save(tmp_path / "better.onnx")


ENDLESS = {"method": "rulelist", "budget": 10**9}


def interrupt_soon():
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_ends_a_search_with_its_best(model):
    interrupt_soon()
    result = reverie.optimize(model, cost="roofline:t4", **ENDLESS)
    assert result.interrupted and result.gain_percent > 5


def test_ctrl_c_ends_placing_with_its_best(model):
    interrupt_soon()
    plan = reverie.place(model, devices="2xv100-nvlink", methods="annealing", time_limit=10**6)
    assert plan.interrupted and plan.feasible and plan.makespan_ms > 0


def test_what_another_handler_raises_is_raised(model):
    def handle(*unused):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1)
        with pytest.raises(TimeoutError):
            reverie.optimize(model, cost="roofline:t4", **ENDLESS)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_other_threads_run_meanwhile(model):
    turns, over = [0], threading.Event()

    def count():
        while not over.is_set():
            turns[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    interrupt_soon()
    reverie.optimize(model, cost="roofline:t4", **ENDLESS)
    over.set(), thread.join()
    assert turns[0] > 20


def test_placing_is_the_same_as_by_the_command(model, tmp_path):
    plan = reverie.place(model, devices="2xv100-nvlink", methods=["heft", "local"], evaluations=50)
    told = run(
        "place",
        model,
        "--devices",
        "2xv100-nvlink",
        "--method",
        "heft,local",
        "--evaluations",
        50,
        "--quiet",
        "--json",
        "-o",
        tmp_path / "command",
    )
    line = json.loads(told.stdout.splitlines()[-1])
    assert plan.makespan_ms == line["makespan_ms"] and plan.method == line["method"]
    assert plan.lower_bound_ms == line["lower_bound_ms"] <= plan.makespan_ms
    assert plan.makespans_ms == {one["method"]: one["makespan_ms"] for one in line["methods"]}
    assert plan.peak_bytes == line["peak_bytes"] and plan.feasible and plan.why_infeasible == ""
    plan.save(tmp_path / "module.json"), plan.save(tmp_path / "module")
    written = (tmp_path / "command/placement.json").read_bytes()
    assert (tmp_path / "module.json").read_bytes() == written
    assert (tmp_path / "module/placement.json").read_bytes() == written
    assert set(plan.device_of.values()) <= {"gpu0", "gpu1"}
    assert {run["name"] for run in plan.schedule} <= set(plan.device_of)
    xml.etree.ElementTree.fromstring(plan.svg())


def test_options_of_methods_are_sections(model):
    narrow = {"methods": "beam", "devices": "2xv100-nvlink", "evaluations": 30}
    assert reverie.place(model, beam={"width": 2}, **narrow).method == "beam"
    with pytest.raises(reverie.InputError, match="did you mean 'beam.width'"):
        reverie.place(model, beam={"widht": 2}, **narrow)


def test_fused_nodes_have_the_device_of_what_holds_them(model):
    plain, fused = (
        reverie.place(model, devices="8xh100", methods="heft", fuse=fuse) for fuse in (False, True)
    )
    assert set(fused.device_of) == set(plain.device_of) and len(fused.schedule) < len(
        plain.schedule
    )


def test_devices_must_be_named(model):
    with pytest.raises(reverie.InputError, match="name the devices: a YAML file, or 2xv100-nvlink"):
        reverie.place(model)
    with pytest.raises(reverie.InputError, match="measure runs placements on this machine"):
        reverie.place(model, devices="2xv100-nvlink", measure=True)
    with pytest.raises(reverie.InputError, match="no method 'nope'; there are"):
        reverie.place(model, devices="2xv100-nvlink", methods="nope")
