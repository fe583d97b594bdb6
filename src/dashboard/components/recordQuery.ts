import type { Request } from 'express';
import { momentQuerySchema, pageQuerySchema } from '../../api/schemas/parameters.ts';
import { type CatalogEntry, catalog } from '../../domain/records/catalog.ts';
import { ServiceError } from '../../platform/errors.ts';
import { breadcrumb } from './breadcrumb.ts';
import type { Html } from './html.ts';
import { queryInUtc } from './momentFields.ts';
import { recordPath, recordsPath } from './recordPaths.ts';

export const recordsSection = 'Records';

/** The query parameters of a list's page, and of a page of one version or moment. */
export const pageParameters: readonly string[] = Object.keys(pageQuerySchema.shape);
export const momentParameters: readonly string[] = Object.keys(momentQuerySchema.shape);

/**
 * Returns the query without the fields that a form sent empty, and with its moments in UTC. Throws
 * `validation_failed`.
 */
export function filledQuery({ query }: Request): Request['query'] {
  return queryInUtc(Object.fromEntries(Object.entries(query).filter(([, value]) => value !== '')));
}

/** Returns the parameters of a query that were sent once, as sent. */
export function textsOf({ query }: Pick<Request, 'query'>): Record<string, string> {
  const isText = (pair: [string, unknown]): pair is [string, string] => typeof pair[1] === 'string';
  return Object.fromEntries(Object.entries(query).filter(isText));
}

/** Returns the kind with a plural name, as used in paths; throws `not_found` for an unknown one. */
export function kindOf(plural: unknown): CatalogEntry {
  const entry = catalog.find((one) => one.plural === plural);
  if (entry === undefined) throw new ServiceError('not_found', 'There is no such kind of record.');
  return entry;
}

/** Returns a kind's name as the heading of several records. */
export function pluralTitle({ plural }: CatalogEntry): string {
  return plural.charAt(0).toUpperCase() + plural.slice(1);
}

/** Returns the breadcrumb of a record's page, or, where an id is given, of what is below that. */
export function recordCrumbs(workspace: string, entry: CatalogEntry, id?: string): Html {
  return breadcrumb([
    { text: recordsSection, path: recordsPath(workspace) },
    { text: pluralTitle(entry), path: recordsPath(workspace, entry.kind) },
    ...(id === undefined ? [] : [{ text: id, path: recordPath(workspace, entry.kind, id) }]),
  ]);
}

/** Returns why a query names no state of a record; rethrows any other error. */
export function refusedQuery(error: unknown): ServiceError {
  const codes = ['validation_failed', 'not_found', 'gone'];
  if (error instanceof ServiceError && codes.includes(error.code)) return error;
  throw error;
}

/**
 * Resolves with what a part of a page reads from a read model; undefined where that is too far behind, or cannot be
 * reached.
 */
export async function unlessBehind<Result>(read: Promise<Result>): Promise<Result | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unavailable') return undefined;
    throw error;
  }
}
