import type { Request } from 'express';
import type { AccessSubject } from '../../../audit/recordAccess.ts';
import { encounter } from '../../../records/kinds/encounter.ts';
import type { Exchange } from '../../server/exchange.ts';
import { documentPath, recordPath } from '../documentedParameters.ts';
import { accessSubject, pathId } from '../parameters.ts';

/** Path of an encounter's documents. */
export const documentCollection = `/integration/${encounter.plural}/{id}/documents`;
export const collectionParams = recordPath(encounter);
/** Path of one of them. */
export const documentMember = `${documentCollection}/{documentId}`;
export const documentParams = documentPath(encounter);

export const encounterId = (req: Request) => pathId(req, 'id', 'Encounter');
export const documentId = (req: Request) => pathId(req, 'documentId', 'Document');

/** Returns what a request to a document, or to all of an encounter, is about. */
export function documentSubject({ req: { params } }: Exchange): AccessSubject {
  return accessSubject('document', params.id, params.documentId);
}
