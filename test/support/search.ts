import { type Client, insistWhileLagging, type TestResponse } from './client.ts';

/** Searches with a key; again while the read model lags, as lists are asked for again. */
export function search(client: Client, asked: object): Promise<TestResponse> {
  return insistWhileLagging(
    () => client.post('/integration/search', asked),
    ({ status, body }) => (status === 503 ? body?.error : undefined),
  );
}
