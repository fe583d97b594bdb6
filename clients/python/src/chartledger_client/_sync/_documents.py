# Written by `npm run docs` from `../_async`: change that.
from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack, closing
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Union

from typing_extensions import Unpack

from .. import types
from .._http import answered, path_of
from .._writing import RemoveOptions, WriteOptions, write_parts
from ._connection import Connection
from ._paging import List

File = Union[bytes, str, os.PathLike[str], BinaryIO]


def _path(encounter_id: str, *parts: str) -> str:
    return path_of("integration", "encounters", encounter_id, "documents", *parts)


def _name_of(file: File) -> str | None:
    name = file if isinstance(file, (str, os.PathLike)) else getattr(file, "name", None)
    return Path(name).name if isinstance(name, (str, os.PathLike)) else None


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
        Stores a document, a PDF or DOCX, in place of the encounter's earlier one of that id. `file` is a path, bytes or an open file, which is sent from its
        beginning, and has to be seekable, because it may be sent again. Without `filename` it has that of the path or open
        file. Raises `ValueError` when there is none, and `ChartledgerError` with the code `not_found` without the encounter.
        """
        filename = filename or _name_of(file)
        if filename is None:
            raise ValueError("upload needs a filename")
        with ExitStack() as opened:
            if isinstance(file, bytes):
                file = BytesIO(file)
            elif isinstance(file, (str, os.PathLike)):
                file = opened.enter_context(open(file, "rb"))
            if not file.seekable():
                raise ValueError("upload needs a file that is seekable")
            return self._connection.call(
                "POST",
                _path(encounter_id),
                data={"document_id": document_id, "category": category},
                files={"file": (filename, file)},
                **write_parts(options),
            )

    def list(self, encounter_id: str) -> List[types.Document]:
        """
        All documents of an encounter. Raises `ChartledgerError` at the end with the code `unreadable` where the service could
        not read some of them.
        """
        return List(self._connection, _path(encounter_id))

    def download(
        self, encounter_id: str, document_id: str, **query: Unpack[types.ReadQuery]
    ) -> Generator[bytes, None, None]:
        """
        The file of a document, as it is or was, in pieces. A download that breaks off is not resumed. Raises `ChartledgerError`,
        with the code `not_found` when there is none.
        """
        response = self._connection.call(
            "GET", _path(encounter_id, document_id), params=query, stream=True
        )
        with closing(response):
            with answered():
                for chunk in response.iter_bytes():
                    yield chunk

    def remove(
        self, encounter_id: str, document_id: str, **options: Unpack[RemoveOptions]
    ) -> types.DocumentRemoved:
        """Removes a document. Raises `ChartledgerError` with the code `not_found`."""
        return self._connection.call(
            "DELETE", _path(encounter_id, document_id), **write_parts(options)
        )

    def history(self, encounter_id: str, document_id: str) -> List[types.DocumentVersion]:
        """Every version of a document, newest first. Raises `ChartledgerError` with the code `not_found`."""
        return List(self._connection, _path(encounter_id, document_id, "history"))
