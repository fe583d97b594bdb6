import type { Client, TestResponse } from './client.ts';

/** Searches with a key. */
export function search(client: Client, asked: object): Promise<TestResponse> {
  return client.post('/integration/search', asked);
}
