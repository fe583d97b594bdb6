import type { Request } from 'express';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import type { AccessSubject } from '../../modules/audit/recordAccess.ts';
import { documentPath, recordPath } from '../schemas/documentedParameters.ts';
import { accessSubject, pathId } from '../schemas/parameters.ts';
import type { Exchange } from '../server/exchange.ts';

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
