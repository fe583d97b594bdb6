import { expect } from 'vitest';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';

/** Returns everything on a list, page by page. */
export async function listed(client: Client, path: string, query: Record<string, string>) {
  const items: { id: string; record: Record<string, unknown>; document_id: string }[] = [];
  for (let token: string | null = ''; token !== null; ) {
    const sent = new URLSearchParams({ limit: '3', ...query, ...(token && { page_token: token }) });
    const { status, body } = await client.get(`${path}?${sent}`);
    expect(status).toBe(200);
    items.push(...body.items);
    token = body.next_page_token;
  }
  return items;
}

/** Returns the lines of a response that is complete. */
export async function linesAsked(client: Client, path: string): Promise<Record<string, unknown>[]> {
  const { status, text } = await client.get(path);
  expect([status, text.endsWith('\n')]).toEqual([200, true]);
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Returns a time that everything written so far is before, and everything written later is after; in steps from 1970. */
export async function nextMoment(stepMs = 1): Promise<string> {
  const now = Math.ceil((Date.now() + 1) / stepMs) * stepMs;
  await eventually(async () => expect(Date.now()).toBeGreaterThan(now));
  return new Date(now).toISOString();
}
