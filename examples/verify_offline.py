"""Checks what Chartledger hands over with Python and openssl alone, independently of its code.

    python3 verify_offline.py FILE chartledger.pem [--head HEAD.json] [--proof PROOF.json]

FILE: an export, a report or a PDF with its manifest next to it; a proof, a signed head, a certificate of erasure; the ZIP with the
copy of a patient; or, with --proof, a printed page saved as HTML or text. Ends with 1 and one line when something differs.
"""
import argparse, base64, csv, hashlib, json, pathlib, re, subprocess, sys, tempfile, zipfile

def sha(data): return hashlib.sha256(data).digest()
def canonical(value): return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
def require(is_so, problem):
    if not is_so: sys.exit(f"NOT VALID: {problem}")

def read_json(path):
    try: return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError): sys.exit(f"NOT VALID: {path} is no JSON, and has no manifest next to it")

def read_key(path):
    try: return base64.b64decode(pathlib.Path(path).read_text().split("-----BEGIN PUBLIC KEY-----")[1].split("-----END")[0])
    except (OSError, ValueError, IndexError): sys.exit(f"NOT VALID: {path} is no public key in PEM")

def leaf_of(event):
    return sha(b"\0" + canonical({name: event[name] for name in ("id", "type", "stream", "revision", "recordedAt", "metadata", "data")}))
def node(left, right): return sha(b"\1" + left + right)
def root_of(leaves):
    roots = []  # of the perfect subtrees so far, the largest first
    for count, leaf in enumerate(leaves, 1):
        roots.append(leaf)
        while count % 2 == 0:
            count, right = count // 2, roots.pop()
            roots[-1] = node(roots[-1], right)
    while len(roots) > 1: roots[-2:] = [node(*roots[-2:])]
    return roots[0]

def check_signature(name, signed):
    with tempfile.TemporaryDirectory() as folder:
        text, signature = pathlib.Path(folder, "text"), pathlib.Path(folder, "signature")
        text.write_bytes(canonical({key: value for key, value in signed.items() if key != "signature"}))
        signature.write_bytes(base64.b64decode(signed["signature"]))
        require(signed["key_id"] == key_id, f"{name} was signed with the key {signed['key_id']}, not with {key_id}")
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key_file, "-rawin", "-in", text, "-sigfile", signature]
        require(subprocess.run(command, capture_output=True).returncode == 0, f"{name} was changed after it was signed")

def check_head(head, name="tree_head"):
    if "signature" in head: check_signature(name, head)
    else: require(given, f"{name} is not signed: give the signed head of the same size with --head")
    if given is None: return
    require(head["workspace"] == given["workspace"], f"{name} belongs to another workspace than the given head")
    require(head["size"] != given["size"] or head["root"] == given["root"], f"{name} is that of another log than the given head")
    require("signature" in head or head["size"] == given["size"], f"{name} has another size than the given head")

def check_inclusion(proven, head, name="the event"):
    require(leaf_of(proven["event"]).hex() == proven["leaf"], f"{name} was changed: it does not have the hash of its leaf")
    at, last, root = proven["index"], head["size"] - 1, bytes.fromhex(proven["leaf"])  # RFC 9162, 2.1.3.2
    require(at <= last, f"{name} is outside the tree")
    for other in map(bytes.fromhex, proven["inclusion"]):
        require(last > 0, f"{name} has too long a path")
        root = node(other, root) if at % 2 or at == last else node(root, other)
        while at == last and at % 2 == 0 and at > 0: at, last = at // 2, last // 2
        at, last = at // 2, last // 2
    require(last == 0 and root.hex() == head["root"], f"{name} is not in the tree of the head")

def check_consistency(first, second, path):
    at, last, path = first["size"] - 1, second["size"] - 1, [bytes.fromhex(one) for one in path]  # RFC 9162, 2.1.4.2
    require(first["workspace"] == second["workspace"] and at <= last, "the heads are not of one log")
    while at % 2: at, last = at // 2, last // 2
    before = after = path.pop(0) if at and path else bytes.fromhex(first["root"])
    for other in path:
        if at % 2 or at == last:
            before, after = node(other, before), node(other, after)
            while at % 2 == 0 and at > 0: at, last = at // 2, last // 2
        else: after = node(after, other)
        at, last = at // 2, last // 2
    is_so = last == 0 and before.hex() == first["root"] and after.hex() == second["root"]
    require(is_so, "the second head does not begin with the events of the first")

def check_bytes(name, data, stated):
    lines, stated_lines = data.count(b"\n"), stated.get("lines")
    is_same = hashlib.sha256(data).hexdigest() == stated["sha256"]
    require(is_same or stated_lines in (None, lines), f"{name} has {lines} lines, but the manifest says {stated_lines}")
    require(is_same, f"{name} is not the file of the manifest: its SHA-256 differs")

def check_file(path, manifest):
    check_signature("the manifest", manifest)
    check_head(manifest["tree_head"])
    if manifest.get("format") == "ndjson" and "filters" in manifest:
        events = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
        for number, event in enumerate(events, 1):
            require("erased" in event or leaf_of(event).hex() == event["leaf"], f"line {number} was changed")
        if not any(manifest["filters"].values()):
            moved = next((number for number, event in enumerate(events, 1) if event["index"] != number - 1), None)
            require(moved is None, f"line {moved} is not the next event")
            root = root_of(bytes.fromhex(event["leaf"]) for event in events).hex()
            require(len(events) == manifest["tree_head"]["size"] and root == manifest["tree_head"]["root"], "events are missing at the end")
    if manifest.get("format") == "csv" and "filters" in manifest:
        with path.open(encoding="utf-8", newline="") as file: events = sum(1 for _ in csv.reader(file)) - 1
        require(events == manifest["events"], f"the file has {events} events, but the manifest says {manifest['events']}")
    check_bytes(path.name, path.read_bytes(), manifest)

def check_copy(path):
    with zipfile.ZipFile(path) as copy:
        manifest = json.loads(copy.read("manifest.json"))
        check_signature("the manifest", manifest)
        check_head(manifest["tree_head"])
        names = [name for name in copy.namelist() if name not in ("manifest.json", "chartledger.pem")]
        listed = [file["path"] for file in manifest["files"]]
        require(sorted(names) == sorted(listed), "the ZIP has other files than the manifest")
        for file in manifest["files"]: check_bytes(file["path"], copy.read(file["path"]), file)

def check_page(text, proof):
    check_statement(proof)
    text = " ".join(re.sub("<[^>]*>", "", text).split())
    foot = re.search(r"Evidence: version (\d+); event (\S+); leaf (\w+); tree of (\d+) events; root (\w+); key (\w+)", text)
    require(foot, "the page has no line that begins with Evidence")
    event, head = proof["event"], proof["tree_head"]
    stated = (str(event["revision"] + 1), event["id"], proof["leaf"])
    for name, printed, proven in zip(("version", "event", "leaf"), foot.groups(), stated):
        require(printed == proven, f"the {name} on the page is not that of the proof")
    require(int(foot[4]) != head["size"] or foot[5] == head["root"], "the root on the page is not that of the proof")

def check_statement(value):
    if value["type"] == "chartledger.tree_head.v1": check_head(value, "the head")
    elif value["type"] == "chartledger.proof.v1":
        check_head(value["tree_head"])
        check_inclusion(value, value["tree_head"])
    elif value["type"] == "chartledger.consistency_proof.v1":
        for name in ("first", "second"): check_head(value[name], name)
        check_consistency(value["first"], value["second"], value["consistency"])
    elif value["type"] == "chartledger.erasure_certificate.v1":
        check_signature("the certificate", value)
        check_head(value["tree_head"])
        for number, one in enumerate(value["tombstones"], 1): check_inclusion(one, value["tree_head"], f"tombstone {number}")
        if "deletion" in value: check_inclusion(value["deletion"], value["tree_head"], "the deletion")
    else: require(False, f"nothing known of the type {value['type']}")

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for name in ("file", "key"): parser.add_argument(name)
for name in ("--head", "--proof"): parser.add_argument(name)
options = parser.parse_args()
path, key_file, given = pathlib.Path(options.file), options.key, None
key_id = hashlib.sha256(read_key(key_file)).hexdigest()[:16]
if options.head:
    head = read_json(options.head)
    head = head.get("tree_head", head)
    check_signature("the given head", head)
    given = head
manifest = pathlib.Path(f"{path}.manifest.json")
require(path.is_file(), f"there is no file {path}")
if options.proof: check_page(path.read_text(encoding="utf-8"), read_json(options.proof))
elif manifest.exists(): check_file(path, read_json(manifest))
elif path.read_bytes().startswith(b"PK"): check_copy(path)
else: check_statement(read_json(path))
print("VALID")
