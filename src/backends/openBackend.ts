import { fileURLToPath } from 'node:url';
import type { DocumentStore } from '../ports/documentStore.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { ReadModels } from '../ports/readModels.ts';

/** `sqlite:/a/b`, `file:/a/b` and `file:///a/b` all name the path `/a/b`; relative paths are taken as they are. */
function pathOf(url: string): string {
  return url.startsWith('file://') ? fileURLToPath(url) : url.slice(url.indexOf(':') + 1);
}

/** The event log at a URL. Backends are loaded when they are asked for. */
export async function openEventLog(url: string): Promise<EventLog> {
  const { SqliteEventLog } = await import('./sqlite/SqliteEventLog.ts');
  return SqliteEventLog.open(pathOf(url));
}

/** The read models at a URL. */
export async function openReadModels(url: string): Promise<ReadModels> {
  const { SqliteReadModels } = await import('./sqlite/SqliteReadModels.ts');
  return new SqliteReadModels(pathOf(url));
}

/** The document store at a URL. */
export async function openDocumentStore(url: string): Promise<DocumentStore> {
  const { LocalDocumentStore } = await import('./localFiles/LocalDocumentStore.ts');
  return LocalDocumentStore.open(pathOf(url));
}
