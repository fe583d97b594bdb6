import { deleteDocument } from './deleteDocument.ts';
import { downloadDocument } from './downloadDocument.ts';
import { listDocuments } from './listDocuments.ts';
import { readDocumentHistory } from './readDocumentHistory.ts';
import { readDocumentProof } from './readDocumentProof.ts';
import { uploadDocument } from './uploadDocument.ts';

/** The endpoints of encounters' documents. */
export const documentEndpoints = [
  uploadDocument,
  listDocuments,
  downloadDocument,
  deleteDocument,
  readDocumentHistory,
  readDocumentProof,
];
