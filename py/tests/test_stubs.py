"""The stubs, the manuals and the module say the same."""

import ast
import inspect
import pathlib

import palpate
import palpate._palpate as compiled

STUB = pathlib.Path(palpate.__file__).with_name("_palpate.pyi")


def public(thing):
    return {name for name in vars(thing) if not name.startswith("_")}


def stubbed():
    """Names of the stub; of a class with those in it."""
    tree = ast.parse(STUB.read_text())
    out = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            out[node.name] = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            out[node.name] = node
    return out


def test_every_name_is_in_the_stub():
    stub = stubbed()
    for name in public(compiled):
        thing = getattr(compiled, name)
        if inspect.isclass(thing):
            there = {n for n in stub[name] if not n.startswith("_")}
            assert there == public(thing), name
        elif callable(thing):
            assert name in stub
    assert {n for n in stub if n not in public(compiled)} == set()


def arguments(node):
    return [a.arg for a in node.args.args + node.args.kwonlyargs if a.arg not in ("self", "cls")]


def test_arguments_are_those_of_the_stub():
    checked = 0
    for name, stub in stubbed().items():
        thing = getattr(compiled, name)
        methods = stub.items() if isinstance(stub, dict) else [(None, stub)]
        for method, node in methods:
            real = thing if method in (None, "__init__") else inspect.getattr_static(thing, method)
            if inspect.isdatadescriptor(real) or method in ("__float__", "__len__"):
                continue
            real = thing if method in (None, "__init__") else getattr(thing, method)
            given = [p for p in inspect.signature(real).parameters if p != "self"]
            assert arguments(node) == given, (name, method)
            checked += 1
    assert checked > 50


def test_everything_has_a_manual():
    for name in palpate.__all__:
        thing = getattr(palpate, name)
        if name in ("CONTACT", "SAMPLES", "__version__"):
            continue
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member in public(thing):
                assert inspect.getdoc(inspect.getattr_static(thing, member)) or member in ("html", "height"), (name, member)


def test_all_is_what_there_is():
    assert set(palpate.__all__) <= set(vars(palpate))
    assert public(compiled) - {"record", "look_at_assembly"} <= set(palpate.__all__)
    assert STUB.with_name("py.typed").exists()


def test_snippet_runs(capsys):
    """The twin of the programs in Rust and C; ./test compares what they print."""
    path = pathlib.Path(__file__).parents[2] / "docs" / "snippets" / "first_contact.py"
    exec(compile(path.read_text(), str(path), "exec"), {})
    assert capsys.readouterr().out.startswith("contacts 197\n")
