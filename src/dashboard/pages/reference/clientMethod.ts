import { catalog } from '../../../domain/records/catalog.ts';
import type { PlacedOperation } from './document.ts';
import { exampleRequest } from './exampleRequest.ts';

/** A method that both clients have, by the name that it has in both. */
export interface ClientMethod {
  /** Below the client: `patients.upsert`. */
  name: string;
  arguments: unknown[];
  /** By name: an additional object in TypeScript, keywords in Python. */
  options?: Record<string, unknown>;
  /** What it returns: one value, or a sequence of many, each of which is one of these. */
  each?: string;
}

const records = '/integration/{kind}';
const documents = '/integration/encounters/{id}/documents';

/** Returns the clients' method for an operation; undefined where it requires their `request`. */
export function clientMethod(placed: PlacedOperation): ClientMethod | undefined {
  const { path: sent, body } = exampleRequest(placed);
  const { id, documentId } = sent;
  const entry = catalog.find(({ plural }) => new RegExp(`^/integration/${plural}(?:$|/)`).test(placed.path));
  const own = methodOf(`${placed.method} ${placed.path}`);
  if (own !== undefined || entry === undefined) return own;
  const template = placed.path.replace(`/${entry.plural}`, '/{kind}');
  const ofKind = methodOf(`${placed.method} ${template}`);
  return ofKind && { ...ofKind, name: `${entry.plural}.${ofKind.name}` };

  function methodOf(operation: string): ClientMethod | undefined {
    const { q, ...narrowed } = (body ?? {}) as { q?: string };
    switch (operation) {
      case `post ${records}`:
        return { name: 'upsert', arguments: [body] };
      case `get ${records}`:
        return { name: 'list', arguments: [], each: entry?.kind ?? 'record' };
      case `patch ${records}/{id}`:
        return { name: 'patch', arguments: [id, body] };
      case `get ${records}/{id}`:
        return { name: 'read', arguments: [id] };
      case `get ${records}/{id}/history`:
        return { name: 'history', arguments: [id], each: 'version' };
      case 'get /integration/encounters/{id}/readiness':
        return { name: 'encounters.readiness', arguments: [id] };
      case 'get /integration/readiness':
        return { name: 'encounters.worklist', arguments: [], each: 'encounter' };
      case `get ${documents}`:
        return { name: 'documents.list', arguments: [id], each: 'document' };
      case `delete ${documents}/{documentId}`:
        return { name: 'documents.remove', arguments: [id, documentId] };
      case `get ${documents}/{documentId}/history`:
        return { name: 'documents.history', arguments: [id, documentId], each: 'version' };
      case 'post /integration/search':
        return { name: 'search', arguments: [q], options: narrowed, each: 'found' };
      case 'post /integration/batch':
        return { name: 'batch', arguments: [body], each: 'result' };
      case 'get /events':
        return { name: 'events', arguments: [], each: 'event' };
      default:
        return undefined;
    }
  }
}
