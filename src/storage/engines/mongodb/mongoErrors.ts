import { type Collection, type Document, MongoServerError } from 'mongodb';

const DUPLICATE_KEY = 11000;
const NAMESPACE_EXISTS = 48;

/** Whether a collection could not be created because it exists. */
export function isNamespaceTaken(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === NAMESPACE_EXISTS;
}

/** Inserts a document; false when one with its `_id` exists. */
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
