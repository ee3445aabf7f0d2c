"""An RO-Crate (w3id.org/ro/crate/1.1): which files a study has, what each is, and its SHA-256."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from prereg.lock import Lock
from prereg.study import Study

NAME = "ro-crate-metadata.json"


@dataclass(frozen=True, slots=True)
class CrateFile:
    """A file of the crate."""

    path: str
    """From the study's folder, with `/`."""
    what: str
    kind: str
    """Its media type."""
    size: int
    sha256: str


def crate(study: Study, lock: Lock | None, files: Sequence[CrateFile], version: str, date: str) -> str:
    """The text of the metadata file.

    `version` is the harness's, `date` an ISO date of publication, which RO-Crate demands.
    """
    people = [{"@id": f"#author-{n}", "@type": "Person", "name": a} for n, a in enumerate(study.authors, 1)]
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": study.title,
        "description": study.description or study.title,
        "datePublished": date,
        "identifier": lock.sha256 if lock is not None else study.id,
        "license": {"@id": "#license"},
        "author": [{"@id": person["@id"]} for person in people],
        "hasPart": [{"@id": _id(file)} for file in files],
        "mentions": [{"@id": "#harness"}],
    }
    graph: list[dict[str, Any]] = [
        {
            "@id": NAME,
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        root,
        *people,
        {
            "@id": "#license",
            "@type": "CreativeWork",
            "name": "Not stated",
            "description": "The plan states no licence; ask the authors.",
        },
        {
            "@id": "#harness",
            "@type": "SoftwareApplication",
            "name": "matched-compute-harness",
            "softwareVersion": version,
        },
        *(_entity(file) for file in files),
    ]
    context = [
        "https://w3id.org/ro/crate/1.1/context",
        {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"},
    ]
    return json.dumps({"@context": context, "@graph": graph}, indent=1, ensure_ascii=False) + "\n"


def _id(file: CrateFile) -> str:
    """A relative URI: what is not a safe character of one is escaped, as RO-Crate demands."""
    return quote(file.path, safe="/-._~")


def _entity(file: CrateFile) -> dict[str, Any]:
    return {
        "@id": _id(file),
        "@type": "File",
        "name": file.what,
        "encodingFormat": file.kind,
        "contentSize": str(file.size),
        "sha256": file.sha256,
    }
