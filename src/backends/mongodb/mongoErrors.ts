import {
  type AnyBulkWriteOperation,
  type Collection,
  type Document,
  MongoBulkWriteError,
  MongoServerError,
} from 'mongodb';

const DUPLICATE_KEY = 11000;
const NAMESPACE_EXISTS = 48;

/** Whether a collection could not be created because it is there. */
export function isNamespaceTaken(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === NAMESPACE_EXISTS;
}

/** Inserts a document; false when one with its `_id` is there. */
export async function insertNew<Schema extends Document>(
  collection: Collection<Schema>,
  document: Parameters<Collection<Schema>['insertOne']>[0],
): Promise<boolean> {
  try {
    await collection.insertOne(document);
    return true;
  } catch (error) {
    if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return false;
    throw error;
  }
}

/** Writes in any order; returns the places of those that failed because a document with that `_id` is there. */
export async function writeUnordered<Schema extends Document>(
  collection: Collection<Schema>,
  writes: AnyBulkWriteOperation<Schema>[],
): Promise<number[]> {
  try {
    await collection.bulkWrite(writes, { ordered: false });
    return [];
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const failures = [error.writeErrors].flat();
    const others = failures.length === 0 || failures.some(({ code }) => code !== DUPLICATE_KEY);
    if (others || error.result.getWriteConcernError() !== undefined) throw error;
    return failures.map(({ index }) => index);
  }
}
