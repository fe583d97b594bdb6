import { expect } from 'vitest';
import { eventually } from './eventually.ts';
import type { TestService } from './service.ts';

/** All items of the list of a kind, page by page; waits for the projector where a page is not there yet. */
export async function listAll(service: Pick<TestService, 'get'>, plural: string, withinMs: number) {
  const items = [];
  for (let token = ''; ; ) {
    const { body } = await eventually(async () => {
      const answer = await service.get(`/integration/${plural}?limit=200${token && `&page_token=${token}`}`);
      expect(answer.status).toBe(200);
      return answer;
    }, withinMs);
    items.push(...body.items);
    if (body.next_page_token === null) return items;
    token = body.next_page_token;
  }
}
