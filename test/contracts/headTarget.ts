import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { HeadTarget } from '../../src/ports/headTarget.ts';

export interface HeadTargetUnderTest {
  open(): HeadTarget;
  /** One that does not take anything. */
  openAway(): HeadTarget;
  /** What was kept, by name. */
  kept(): Promise<Map<string, string>>;
}

/** What every place for heads promises. */
export function headTargetContract({ open, openAway, kept }: HeadTargetUnderTest): void {
  test('keeps every text whole, under its name', async () => {
    const texts = Array.from(
      { length: 3 },
      (_, n) => [`clinic-${n}-${randomUUID()}.json`, `{"n": ${n}}\n`] as const,
    );
    for (const [name, text] of texts) await open().keep(name, text);
    const all = await kept();
    expect(texts.map(([name]) => all.get(name))).toEqual(texts.map(([, text]) => text));
    expect([...all.keys()].filter((name) => !name.endsWith('.json'))).toEqual([]);
  });

  test('says in words for operators why it does not take anything', async () => {
    await expect(openAway().keep('clinic-1.json', '{}')).rejects.toMatchObject({
      code: 'unavailable',
      problem: expect.stringMatching(/^\S.*\.$/),
    });
  });
}
