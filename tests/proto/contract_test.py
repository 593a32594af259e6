"""contract_test.py FOLDER: the rules of docs/api.md that buf's lint does not hold, for the .proto files below FOLDER.

Reads the files by a parser of its own, which knows what they use of the language and refuses the rest, so that it needs
Python alone. It first breaks each rule in a copy and expects to be told.
"""
import pathlib
import re
import sys

FILE_OPTIONS = {"csharp_namespace": "Glint.V1", "go_package": "glint/v1;glintv1", "java_multiple_files": "true",
                "java_package": "glint.v1"}
SCALARS = {"bool", "bytes", "double", "float", "int32", "int64", "string", "uint32", "uint64"}
# A row of descriptors has few bytes, as a setting; a region of shared memory is as large as the client's process says.
OTHER_BYTES = {("ImageFeatures", "descriptor_bytes"), ("DescriptorSet", "descriptor_bytes"),
               ("RegisterSharedMemoryResponse", "bytes")}
TOKEN = re.compile(r'"[^"]*"|[\w.]+|[^\s\w]')


class Fault(Exception):
    """The parser does not know what it reads."""


class Contract:
    """What the files declare: messages {name: {field: (number, type, its oneof or None)}}, enums {name: {value: number}},
    methods (name, how many of its two sides are streams, request, response), and what is wrong with the files."""

    def __init__(self):
        self.messages, self.enums, self.rpcs, self.wrong = {}, {}, [], []

    def parse(self, path, text):
        self.path, self.tokens = path, TOKEN.findall(re.sub(r"//[^\n]*", "", text))
        self.at, options, package = 0, {}, None
        while self.at < len(self.tokens):
            word = self.next()
            if word == "syntax":
                self.expect("=", '"proto3"', ";")
            elif word == "package":
                package = self.statement()[0]
            elif word == "import":
                self.statement()
            elif word == "option":
                name, equals, value = self.statement()
                if equals != "=":
                    raise Fault(f"{path}: option {name}: no value")
                options[name] = value.strip('"')
            elif word in ("message", "enum", "service"):
                getattr(self, word)()
            else:
                raise Fault(f"{path}: {word}: unknown here")
        if package != "glint.v1":
            self.wrong.append(f"{path}: package {package}, not glint.v1")
        if options != FILE_OPTIONS:
            self.wrong.append(f"{path}: options {options}, not {FILE_OPTIONS}")

    def next(self):
        self.at += 1
        if self.at > len(self.tokens):
            raise Fault(f"{self.path}: ends too early")
        return self.tokens[self.at - 1]

    def expect(self, *wanted):
        for token in wanted:
            found = self.next()
            if found != token:
                raise Fault(f"{self.path}: {found} in place of {token}")

    def statement(self):
        """What is left of it, up to the semicolon."""
        words = []
        while (word := self.next()) != ";":
            words.append(word)
        return words

    def message(self):
        name = self.next()
        fields = self.messages[name] = {}
        self.expect("{")
        oneof = None
        while (word := self.next()) != "}" or oneof:
            if word == "}":
                oneof = None
            elif word == "oneof":
                oneof = self.next()
                self.expect("{")
            elif word == "reserved":
                self.reserved(name)
            else:
                words = [word, *self.statement()]
                if words[0] in ("optional", "repeated"):
                    words.pop(0)
                if words[0] == "map":
                    words[0:6] = ["".join(words[0:6])]
                if words[4:] == ["[", "deprecated", "=", "true", "]"]:
                    del words[4:]
                if len(words) != 4 or words[2] != "=" or not words[3].isdigit():
                    raise Fault(f"{self.path}: {name}: {' '.join(words)}: no field")
                fields[words[1]] = (int(words[3]), words[0], oneof)

    def enum(self):
        name = self.next()
        values = self.enums[name] = {}
        self.expect("{")
        while (word := self.next()) != "}":
            if word == "reserved":
                self.reserved(name)
            else:
                self.expect("=")
                values[word] = int(self.next())
                self.expect(";")

    def reserved(self, name):
        if "to" in self.statement():
            self.wrong.append(f"{name}: a range is reserved")

    def service(self):
        name = self.next()
        self.expect("{")
        while (word := self.next()) != "}":
            words = [word, *self.statement()]  # rpc Name ( [stream] Request ) returns ( [stream] Response )
            if words[0] != "rpc" or len(words) - words.count("stream") != 9:
                raise Fault(f"{self.path}: {name}: {' '.join(words)}: no method")
            types = [word for word in words[2:] if word not in ("(", ")", "returns", "stream")]
            self.rpcs.append((words[1], words.count("stream"), *types))


def snake(name):
    return re.sub(r"(?<=.)([A-Z])", r"_\1", name).lower()


def want(wrong, contract, message, **fields):
    """`message` has each of `fields`, {name: (number, type)}, outside of a oneof."""
    for name, (number, kind) in fields.items():
        found = contract.messages.get(message, {}).get(name)
        if found != (number, kind, None):
            wrong.append(f"{message}: not {kind} {name} = {number}, but {found}")


def check_request(wrong, contract, method, request):
    fields = contract.messages[request]
    if any(oneof != "message" for _, _, oneof in fields.values()):
        wrong.append(f"{request}: has fields beside the oneof message")
    if fields.get("options", (0,))[0] != 1 or fields["options"][1] != f"{method}Options":
        wrong.append(f"{request}: not {method}Options options = 1")
        return
    want(wrong, contract, f"{method}Options", detector=(1, "DetectorOptions"), overload_policy=(4, "OverloadPolicy"),
         max_in_flight=(5, "int32"), max_age_ns=(6, "int64"))
    frames = []
    for name, (number, kind, _) in fields.items():
        if name == "options":
            continue
        want(wrong, contract, kind, frame_id=(1, "uint64"))
        if "max_age_ns" in contract.messages.get(kind, {}):
            frames.append(number)
            want(wrong, contract, kind, max_age_ns=(2, "int64"))
        elif name != snake(kind):  # an edit: a message for each verb
            wrong.append(f"{request}: the edit {kind} is called {name}")
    if 2 not in frames:
        wrong.append(f"{request}: 2 is no frame")


def check_answer(wrong, contract, response, first):
    """Fields `first` of the envelope alone have numbers up to 3."""
    others = {name: field for name, field in contract.messages[response].items() if name not in first}
    for name, (number, _, _) in others.items():
        if number < 4:
            wrong.append(f"{response}: {name} = {number} is below 4")
    if not any(number == 4 for number, _, _ in others.values()):
        wrong.append(f"{response}: no answer = 4")


def check_streams(wrong, contract):
    for method, streamed, request, response in contract.rpcs:
        if streamed:
            if (streamed, request, response) != (2, f"{method}Request", f"{method}Response"):
                wrong.append(f"{method}: streams {request} and {response}")
                continue
            check_request(wrong, contract, method, request)
            want(wrong, contract, response, frame_id=(1, "uint64"), status=(2, "FrameStatus"), timings=(3, "Timings"))
            check_answer(wrong, contract, response, ("frame_id", "status", "timings"))
            if [number for number, _, oneof in contract.messages[response].values() if oneof == "answer"][:1] != [4]:
                wrong.append(f"{response}: no oneof answer from 4 on")
        elif "Timings" in (kind for _, kind, _ in contract.messages[response].values()):
            want(wrong, contract, response, timings=(3, "Timings"))
            check_answer(wrong, contract, response, ("timings",))


def check_fields(wrong, contract):
    known = SCALARS | set(contract.messages) | set(contract.enums) | {"google.protobuf.Any", "map<string,string>"}
    for message, fields in contract.messages.items():
        for name, (_, kind, _) in fields.items():
            if kind not in known:
                wrong.append(f"{message}.{name}: {kind} is not one of {', '.join(sorted(SCALARS))}")
            size = name.endswith(("_ns", "_bytes")) and (message, name) not in OTHER_BYTES and kind in SCALARS
            if size and kind != "int64":
                wrong.append(f"{message}.{name}: {kind}, not int64")
            if name.endswith(("_us", "_ms", "_seconds", "_s")):
                wrong.append(f"{message}.{name}: times are nanoseconds")
    for enum, values in contract.enums.items():
        zero = [name for name, number in values.items() if number == 0]
        if zero != [f"{snake(enum).upper()}_UNSPECIFIED"]:
            wrong.append(f"{enum}: 0 is {', '.join(zero)}")


def check(texts):
    """What is wrong with {path: text}, a line each."""
    contract = Contract()
    try:
        for path, text in sorted(texts.items()):
            contract.parse(path, text)
    except Fault as fault:
        return [str(fault)]
    wrong = contract.wrong
    if sum(streamed > 0 for _, streamed, _, _ in contract.rpcs) < 2:
        wrong.append("fewer than two streams: not the contract?")
    check_streams(wrong, contract)
    check_fields(wrong, contract)
    return wrong


def self_test(texts):
    """Each rule, broken in a copy."""
    def broken(pattern, replacement, expected):
        matches = [path for path, text in texts.items() if re.search(pattern, text, re.DOTALL)]
        assert matches, pattern
        path = matches[0]
        said = check({**texts, path: re.sub(pattern, replacement, texts[path], count=1, flags=re.DOTALL)})
        assert any(expected in line for line in said), (pattern, replacement, expected, said)

    response = r"(message DetectStreamResponse \{.*?)"
    request = r"(message MatchStreamRequest \{.*?)"
    options = r"(message TrackStreamOptions \{.*?)"
    broken(response + r"uint64 frame_id = 1", r"\1int64 frame_id = 1", "DetectStreamResponse: not uint64 frame_id = 1")
    broken(response + r"status = 2", r"\1status = 9", "DetectStreamResponse: not FrameStatus status = 2")
    broken(response + r"timings = 3", r"\1timings = 5", "DetectStreamResponse: not Timings timings = 3")
    broken(response + r"oneof answer", r"\1oneof result", "DetectStreamResponse: no oneof answer")
    broken(response + r"features = 4", r"\1features = 5", "DetectStreamResponse: no answer = 4")
    broken(r"(message DetectResponse \{.*?)timings = 3", r"\1timings = 2", "DetectResponse: not Timings timings = 3")
    broken(r"(message DetectResponse \{.*?)features = 4", r"\1features = 1", "DetectResponse: features = 1 is below 4")
    broken(request + r"oneof message", r"\1oneof content", "MatchStreamRequest: has fields beside the oneof message")
    broken(request + r"\}", r"\1}\n  bool last = 9;", "MatchStreamRequest: has fields beside the oneof message")
    broken(request + r"options = 1", r"\1options = 9", "MatchStreamRequest: not MatchStreamOptions options = 1")
    broken(request + r"MatchStreamOptions", r"\1MatchOptions", "MatchStreamRequest: not MatchStreamOptions options = 1")
    broken(request + r" update_set", r"\1 edit", "MatchStreamRequest: the edit UpdateSet is called edit")
    broken(request + r"pair = 2", r"\1pair = 9", "MatchStreamRequest: 2 is no frame")
    broken(options + r"detector = 1", r"\1detector = 2", "TrackStreamOptions: not DetectorOptions detector = 1")
    broken(options + r"overload_policy = 4", r"\1policy = 4", "TrackStreamOptions: not OverloadPolicy overload_policy")
    broken(options + r"int32 max_in_flight", r"\1uint32 max_in_flight", "TrackStreamOptions: not int32 max_in_flight")
    broken(options + r"max_age_ns = 6", r"\1max_age_ns = 20", "TrackStreamOptions: not int64 max_age_ns = 6")
    broken(r"(message ResetTracks \{.*?)frame_id = 1", r"\1frame_id = 3", "ResetTracks: not uint64 frame_id = 1")
    broken(r"(message TrackFrame \{.*?)max_age_ns = 2", r"\1max_age_ns = 9", "TrackFrame: not int64 max_age_ns = 2")
    broken(r"int64 queue_ns", "uint64 queue_ns", "Timings.queue_ns: uint64, not int64")
    broken(r"int64 max_message_bytes", "int32 max_message_bytes", "ServerLimits.max_message_bytes: int32, not int64")
    broken(r"int64 queue_ns", "int64 queue_us", "Timings.queue_us: times are nanoseconds")
    broken(r"int64 queue_ns", "sint64 queue_ns", "Timings.queue_ns: sint64 is not one of")
    broken(r"SCORE_UNSPECIFIED = 0", "SCORE_NONE = 0", "Score: 0 is SCORE_NONE")
    broken(r"message Rotation \{", "message Rotation {\n  reserved 4 to 9;", "Rotation: a range is reserved")
    broken(r"option go_package = [^\n]*\n", "", "options {")
    broken(r"package glint.v1;", "package glint.v2;", "package glint.v2, not glint.v1")
    broken(r"message Rotation \{", "message Rotation {\n  extensions 4;", "Rotation: extensions 4: no field")
    gone = 'message Rotation {\n  reserved 9;\n  reserved "w";\n  double angle = 8 [deprecated = true];'
    kept = {path: text.replace("message Rotation {", gone) for path, text in texts.items()}
    assert check(kept) == check(texts) and kept != texts


def main(folder):
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.proto"))}
    wrong = check(texts)
    if not wrong:
        self_test(texts)
    print("\n".join(wrong) or f"{len(texts)} files keep the rules of docs/api.md")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
