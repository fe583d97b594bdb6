from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Union

from typing_extensions import Unpack

from . import types
from ._connection import Connection, answered, path_of
from ._paging import read_pages
from ._writing import RemoveOptions, WriteOptions, write_parts

File = Union[bytes, Path, BinaryIO]


def _path(encounter_id: str, *parts: str) -> str:
    return path_of("integration", "encounters", encounter_id, "documents", *parts)


def _name_of(file: File) -> str | None:
    name = getattr(file, "name", None)
    return Path(name).name if isinstance(name, str) else None


class Documents:
    """The documents of encounters."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def upload(
        self,
        encounter_id: str,
        file: File,
        *,
        document_id: str,
        category: types.DocumentCategory,
        filename: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> types.DocumentUploaded:
        """
        Stores a document, a PDF or DOCX, in place of the encounter's earlier one of that id. An open file is sent from its
        beginning, and has to be seekable, because it may be sent again. Without `filename` it has that of the path or open
        file. Raises `ValueError` when there is none, and `ChartledgerError` with the code `not_found` without the encounter.
        """
        filename = filename or _name_of(file)
        if filename is None:
            raise ValueError("upload needs a filename")
        with ExitStack() as opened:
            if isinstance(file, bytes):
                file = BytesIO(file)
            elif isinstance(file, Path):
                file = opened.enter_context(file.open("rb"))
            if not file.seekable():
                raise ValueError("upload needs a file that is seekable")
            return self._connection.call(
                "POST",
                _path(encounter_id),
                data={"document_id": document_id, "category": category},
                files={"file": (filename, file)},
                **write_parts(options),
            )

    def list(self, encounter_id: str) -> Iterator[types.Document]:
        """
        All documents of an encounter. Raises `ChartledgerError` at the end with the code `unreadable` where the service could
        not read some of them.
        """
        return read_pages(self._connection, _path(encounter_id))

    def download(
        self, encounter_id: str, document_id: str, **query: Unpack[types.ReadQuery]
    ) -> Generator[bytes, None, None]:
        """
        The file of a document, as it is or was, in pieces. What breaks off is not taken up again. Raises `ChartledgerError`,
        with the code `not_found` when there is none.
        """
        response = self._connection.call("GET", _path(encounter_id, document_id), params=query, stream=True)
        with closing(response), answered():
            yield from response.iter_bytes()

    def remove(
        self, encounter_id: str, document_id: str, **options: Unpack[RemoveOptions]
    ) -> types.DocumentRemoved:
        """Removes a document. Raises `ChartledgerError` with the code `not_found`."""
        return self._connection.call("DELETE", _path(encounter_id, document_id), **write_parts(options))

    def history(self, encounter_id: str, document_id: str) -> Iterator[types.DocumentVersion]:
        """Every version of a document, newest first. Raises `ChartledgerError` with the code `not_found`."""
        return read_pages(self._connection, _path(encounter_id, document_id, "history"))
