"""Reads, without running it, what an evaluator needs: folders, packages, tools, environment variables, data."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from behavesim.base.errors import UsageError
from behavesim.base.text import parse, read_text_file
from behavesim.task.evaluated import INSTANCE, EvaluatorFile

# Most folders above an evaluator in which its repository is sought.
_MOST_ABOVE = 5
# Most files that are read for what an evaluator imports: its own modules, and theirs.
_MOST_READ = 50
# What lies in the folder of a repository; no folder above it is searched.
_ROOTS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
# Packages with stand-ins, which need less than what a repository with the packages themselves has.
_OFFERED = ("openevolve", "shinka", "AlgoTuneTasks", "algodisco", "llamea", "levi")


def root_of(folder: Path, scripts: Iterable[Path]) -> Path | None:
    """Return the folder above an evaluator's from which its imports can be found; None if it needs none.

    `scripts` are its Python files; what their own modules import counts, too. Names that lie in `folder`, are in the
    standard library or installed need no other folder. Of several that are found above, the farthest folder counts;
    none above that of the repository is searched. A repository that was cloned into the evaluator's counts as the
    folder that it lies in: the evaluator looks there.
    """
    above = []
    for parent in folder.parents[:_MOST_ABOVE]:
        if is_wide(parent):
            break
        above.append(parent)
        if any((parent / name).exists() for name in _ROOTS):
            break
    names = _imported(scripts, [folder, *above])
    # an installed package is preferred, as Python would prefer it on a path that ends in the repository
    missing = [name for name in sorted(names) if not _holds(folder, name) and not is_installed(name)]
    found = [place for name in missing if (place := _place_of(name, above)) is not None]
    return min(found, key=lambda each: len(each.parts), default=None)


def is_wide(folder: Path) -> bool:
    """Whether the home folder, where keys lie, or the system's for temporary files is a folder or lies in it."""
    places = Path.home().resolve(), Path(tempfile.gettempdir()).resolve()
    return any(folder in (place, *place.parents) for place in places)


def _place_of(name: str, above: Sequence[Path]) -> Path | None:
    """Return which of the folders above an evaluator has a package; None if none has it or a stand-in suffices."""
    place = next((each for each in above if _holds(each, name)), None)
    if place is not None:
        return None if name in _OFFERED else place
    if not above or not any((above[-1] / mark).exists() for mark in _ROOTS):
        return None
    cloned = (each.parent for mark in _ROOTS for each in above[-1].glob(f"*/{mark}"))
    return above[-1] if any(_holds(each, name) for each in cloned) else None


# What PyPI calls packages that are imported by another name.
_ON_PYPI = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "faiss": "faiss-cpu",
    "ot": "pot",
    "PIL": "pillow",
    "pysat": "python-sat",
    "shinka": "shinka-evolve",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "Stemmer": "pystemmer",
    "yaml": "pyyaml",
}


def how_to_get(*names: str, near: Path | None = None) -> str:
    """Return the command that gets modules which are not installed, by the names under which they are imported.

    `near` is the evaluator: a requirements.txt in its folder, or above in its repository, that names them all is given.
    """
    if "AlgoTuneTasks" in names:  # no package: evaluators look for its repository inside their own
        return "git clone https://github.com/oripress/AlgoTune AlgoTune, in the folder of the evaluator's repository"
    packages = [_ON_PYPI.get(name, name) for name in names]
    above = [] if near is None else _up_to_root(near.parent)
    for path in (place / "requirements.txt" for place in above):
        said = _normalised(path.read_text(errors="replace")) if path.is_file() else ""
        if said and all(_normalised(name) in said for name in packages):
            return f"python -m pip install -r {path}"
    # PyPI may have another package of that name, or none
    readmes = [place / "README.md" for place in above if not _ON_PYPI.keys() >= set(names)]
    readme = next((path for path in readmes if path.is_file()), None)
    return f"python -m pip install {' '.join(packages)}{f', unless {readme} says otherwise' if readme else ''}"


def _up_to_root(folder: Path) -> list[Path]:
    """Return a folder and those above it, up to that of its repository; the folder alone if it is in none."""
    found = []
    for place in (folder, *folder.parents[:_MOST_ABOVE]):
        found.append(place)
        if any((place / name).exists() for name in _ROOTS):
            return found
    return found[:1]


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.lower())


# Finds in a message the tool or the file that is missing.
_MISSING = re.compile(r"No such file or directory: '([^']+)'")
# Where the sandbox looks for tools.
_TOOLS = "/usr/local/bin:/usr/bin:/bin"
_WHERE = "in /usr/bin or /usr/local/bin, where the sandbox looks for tools"
# Finds a message that says of a tool, in its own words, that it is missing.
_NO_TOOL = re.compile(r"tool not found|(executable|command|program|compiler) (was )?not found|not found in PATH", re.I)


def what_it_lacks(file: EvaluatorFile, message: str) -> str:
    """Return what an evaluator whose first program fails may lack, and how to get it; "" if nothing shows.

    It is a tool, a file or an environment variable that `message` names, modules that it or the program imports and
    nothing provides, tools that it runs, or data where a script beside it downloads some.
    """
    name = found[1] if (found := _MISSING.search(message)) else ""
    if name and not {"/", "."} & set(name):
        return f"it runs {name}: install that {_WHERE}"
    if name.startswith("/") and Path(name).exists():
        return f"the sandbox shows {file.readable} alone: copy {name} there"
    if "was removed in the NumPy 2.0 release" in message or "module 'numpy' has no attribute" in message:
        return 'it was written for an older numpy: python -m pip install "numpy<2"'
    script = file.evaluator_path
    if script is None:
        return ""
    if said := advice_on(message, script):
        return said
    places = [file.folder, *([Path(file.root)] if file.root else [])]
    scripts = [script, *([Path(file.program)] if file.suffix == ".py" else [])]
    offered = {each for each in _OFFERED if each != "AlgoTuneTasks" or file.convention == "algotune"}
    sought = sorted(_imported(scripts, places) - offered - {"eoh", "gpt", "llm4ad"})
    lacking = [each for each in sought if not is_installed(each) and not any(_holds(place, each) for place in places)]
    if lacking:
        return f"perhaps for lack of {', '.join(lacking)}, which it imports: {how_to_get(*lacking, near=script)}"
    if tools := _missing_tools(script):
        return f"perhaps for lack of {', '.join(tools)}, which it runs: install that {_WHERE}"
    download = next(iter(sorted(file.folder.glob("*download*.*"))), None)
    if download is not None:
        return f"perhaps for lack of data: run {download.name}, which stands beside it"
    if name:
        unset = sorted(each for each in variables_of([script], [script.parent]) if each not in os.environ)
        by = f", or set what says where it lies: it reads {', '.join(unset)} from the environment" if unset else ""
        return f"fetch that file; the evaluator runs in {file.folder}{by}"
    return ""


def advice_on(message: str, script: Path) -> str:
    """Return what to do about an environment variable or a tool that is missing, as a message says; "" for neither."""
    read = variables_of([script], [script.parent])
    for name in sorted(read & set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", message))):
        if _is_secret(name, ""):
            return f"the sandbox gets no {name}, as programs could read it, and has no network"
        if name not in os.environ:
            is_path = re.search(r"ROOT|DIR|PATH|FILE|FOLDER", name)
            where = f"; the sandbox shows paths below {script.parent} alone" if is_path else ""
            return f"write {name}=... before the command: it is passed on{where}"
    return f"install that tool {_WHERE}" if _NO_TOOL.search(message) else ""


def _missing_tools(script: Path) -> list[str]:
    """Return the tools that a script runs, or looks for, by a name in its text, and that the sandbox has not."""
    found = set()
    for node in ast.walk(_tree(script)):
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).startswith(("subprocess.", "shutil.w")):
            first = node.args[0]
            word = first.elts[0] if isinstance(first, ast.List | ast.Tuple) and first.elts else first
            if isinstance(word, ast.Constant) and isinstance(word.value, str):
                found.add(word.value)
    tools = (name for name in found if re.fullmatch(r"[\w+-]+", name) and not name.startswith("python"))
    return sorted(name for name in tools if shutil.which(name, path=_TOOLS) is None)


# Names of variables that the sandbox sets by itself, or that say something of a person alone.
_OF_THE_SANDBOX = re.compile(
    r"PATH|HOME|TMPDIR|USER|LOGNAME|SHELL|PWD|TERM|LANG|TZ|DISPLAY|CUDA_VISIBLE_DEVICES|(LC|PYTHON|XDG|BEHAVESIM)_?\w*"
    r"|\w+_(THREADS|CONF)|\w*LIBRARY_PATH"
)
# Names of variables that hold keys, and values with a password in an address.
_SECRETS = re.compile(r"KEY|TOKEN|SECRET|PASSW|PWD|CREDENTIAL|AUTH", re.IGNORECASE)
_WITH_PASSWORD = re.compile(r"//[^/\s]*:[^/\s]*@")


def variables_of(scripts: Iterable[Path], places: Sequence[Path]) -> set[str]:
    """Return the environment variables that scripts, and their own modules in `places`, read by a name in the text.

    Those that the sandbox sets by itself are left out.
    """
    names = {name for tree in _read_all(scripts, places) for name in _variables_in(tree)}
    return {name for name in names if name != INSTANCE and not _OF_THE_SANDBOX.fullmatch(name)}


def environment_for(scripts: Iterable[Path], places: Sequence[Path]) -> tuple[Mapping[str, str], Sequence[str]]:
    """Return the variables of this process that `variables_of` names, and the names of those that may be secret.

    Programs could read them, so that the second are not passed on.
    """
    known = {name: os.environ[name] for name in sorted(variables_of(scripts, places)) if name in os.environ}
    secret = [name for name, value in known.items() if _is_secret(name, value)]
    return {name: value for name, value in known.items() if name not in secret}, secret


def _is_secret(name: str, value: str) -> bool:
    return bool(_SECRETS.search(name) or _WITH_PASSWORD.search(value))


def _variables_in(tree: ast.Module) -> Iterator[str]:
    """Yield NAME of `os.environ["NAME"]`, `os.environ.get("NAME")`, `os.getenv("NAME")`, `"NAME" in os.environ`."""
    # a constant of the module may stand for the name
    constants = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=place, slice=name) if _is_environment(place):
                pass
            case ast.Call(func=ast.Attribute(value=place, attr="get"), args=[name, *_]) if _is_environment(place):
                pass
            case ast.Call(func=ast.Attribute(attr="getenv") | ast.Name(id="getenv"), args=[name, *_]):
                pass
            case ast.Compare(left=name, comparators=[place]) if _is_environment(place):
                pass
            case _:
                continue
        known = constants.get(ast.unparse(name), name)
        if isinstance(known, ast.Constant) and isinstance(known.value, str):
            yield known.value


def _is_environment(node: ast.expr) -> bool:
    return ast.unparse(node) in ("os.environ", "environ")


def _imported(scripts: Iterable[Path], places: Sequence[Path]) -> set[str]:
    """Return the first names of what scripts and their own modules in `places` import, without the standard library."""
    trees = _read_all(scripts, places)
    return {name for tree in trees for name in imports_of(tree)} - set(sys.stdlib_module_names)


def _read_all(scripts: Iterable[Path], places: Sequence[Path]) -> list[ast.Module]:
    """Return the syntax trees of scripts and of the modules in `places` that they import, and these import."""
    waiting, trees = list(scripts), dict[Path, ast.Module]()
    while waiting and len(trees) < _MOST_READ:
        script = waiting.pop(0)
        if script not in trees:
            trees[script] = _tree(script)
            names = [name for name in _modules_in(trees[script]) if name.partition(".")[0] not in _OFFERED]
            waiting += [path for name in names if (path := _file_of(name, places)) is not None]
    return list(trees.values())


def _tree(script: Path) -> ast.Module:
    """Return a script's syntax tree, an empty one if it is no Python."""
    try:
        return parse(read_text_file(script, "evaluator"))
    except (SyntaxError, ValueError, UsageError):
        return ast.Module([], [])


def imports_of(tree: ast.AST) -> set[str]:
    """Return the first names of all absolute imports in a syntax tree, those in functions too."""
    return {name.partition(".")[0] for name in _modules_in(tree)}


def _modules_in(tree: ast.AST) -> list[str]:
    """Return the full names of all that absolute imports may load: of `from a import b` both a and a.b."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def _file_of(module: str, places: Sequence[Path]) -> Path | None:
    found = (place / f"{module.replace('.', '/')}.py" for place in places)
    return next((path for path in found if path.is_file()), None)


def _holds(folder: Path, name: str) -> bool:
    package = folder / name
    if (folder / f"{name}.py").is_file() or (package / "__init__.py").is_file():
        return True
    return package.is_dir() and any(any(package.glob(pattern)) for pattern in ("*.py", "*/*.py"))


def is_installed(name: str) -> bool:
    """Whether a module can be imported here that is no stand-in."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return found is not None and not hasattr(found.loader, "is_stand_in")
