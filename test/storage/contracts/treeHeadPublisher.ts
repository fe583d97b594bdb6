import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { PublishedHead, TreeHeadPublisher } from '../../../src/storage/targets.ts';

export interface HeadTargetUnderTest {
  open(): TreeHeadPublisher;
  /** One that does not take anything. */
  openAway(): TreeHeadPublisher;
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
    for (const [name, text] of texts) await open().write(name, text);
    const all = await kept();
    expect(texts.map(([name]) => all.get(name))).toEqual(texts.map(([, text]) => text));
    expect([...all.keys()].filter((name) => !name.endsWith('.json'))).toEqual([]);
  });

  test('gives what it kept under names that begin alike, in order, where it can be read', async () => {
    const target = open();
    if (target.list === undefined) return;
    const prefix = `clinic_${randomUUID().slice(0, 8)}-`;
    for (const n of [2, 1, 3]) await target.write(`${prefix}${n}.json`, `${n}`);
    await target.write(`other-${randomUUID()}.json`, 'other');
    expect(await all(target.list(prefix))).toEqual(
      [1, 2, 3].map((n) => ({ name: `${prefix}${n}.json`, text: `${n}` })),
    );
    const away = openAway();
    if (away.list === undefined) throw new Error('the same place can be read');
    await expect(all(away.list(prefix))).rejects.toMatchObject({
      code: 'unavailable',
      problem: expect.stringMatching(/^\S.*\.$/),
    });
  });

  test('says in words for operators why it does not take anything', async () => {
    await expect(openAway().write('clinic-1.json', '{}')).rejects.toMatchObject({
      code: 'unavailable',
      problem: expect.stringMatching(/^\S.*\.$/),
    });
  });
}

async function all(kept: AsyncIterable<PublishedHead>): Promise<PublishedHead[]> {
  const files: PublishedHead[] = [];
  for await (const file of kept) files.push(file);
  return files;
}
