import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';

/** All files of a folder and those within it. */
export function pathsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The same, with what they hold. */
export function filesIn(folder: string): [name: string, bytes: Buffer][] {
  return pathsIn(folder).map((name) => [name, readFileSync(name)]);
}

/** All collections of a database of MongoDB, with what they hold; nothing of another URL. */
export async function rowsOf(url: string | undefined): Promise<[name: string, text: string][]> {
  if (!url?.startsWith('mongodb')) return [];
  const client = await MongoClient.connect(url);
  try {
    const collections = await client.db().collections();
    return await Promise.all(
      collections.map(
        async (one): Promise<[string, string]> => [
          one.collectionName,
          JSON.stringify(await one.find().toArray()),
        ],
      ),
    );
  } finally {
    await client.close();
  }
}
