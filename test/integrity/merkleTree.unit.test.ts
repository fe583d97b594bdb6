import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LEAVES_A_ROW, type TreeHeadRow, type TreeLeavesRow, tree } from '../../projections/tree.ts';
import { canonicalJson } from '../../src/domain/events/canonicalJson.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { addLeaf, emptyTree, eventLeaf, type HashTree, leafHash, treeRoot } from '../../src/domain/merkle.ts';
import type { Row } from '../../src/storage/readModels.ts';

const sha256 = (...parts: (Buffer | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();

/** MTH of RFC 9162 section 2.1.1, word for word. */
function naiveRoot(entries: string[]): Buffer {
  if (entries.length === 0) return sha256('');
  if (entries.length === 1) return sha256('\0', entries[0] as string);
  let k = 1;
  while (k * 2 < entries.length) k *= 2;
  return sha256(Buffer.of(1), naiveRoot(entries.slice(0, k)), naiveRoot(entries.slice(k)));
}

function naiveChain(entries: string[]): Buffer {
  return entries.reduce(
    (link, entry) => sha256(Buffer.of(2), link, sha256('\0', entry)),
    Buffer.alloc(32) as Buffer,
  );
}

function treeOf(entries: string[]): HashTree {
  return entries.reduce((tree, entry) => addLeaf(tree, leafHash(entry)), emptyTree);
}

describe('the hash tree', () => {
  test('has the roots of the test vectors of RFC 6962 implementations', () => {
    const entries = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657'];
    entries.push('606162636465666768696a6b6c6d6e6f');
    const texts = entries.map((hex) => Buffer.from(hex, 'hex').toString('latin1'));
    expect(texts.map((_, size) => treeRoot(treeOf(texts.slice(0, size + 1))))).toEqual([
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
      'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
      '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
      '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
      'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
      '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
    ]);
    expect(treeRoot(emptyTree)).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  test('has the root and the chain of their definitions, at every size', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 200 }), (entries) => {
        const { size, chain, subtrees } = treeOf(entries);
        expect(size).toBe(entries.length);
        expect(treeRoot({ subtrees })).toBe(naiveRoot(entries).toString('hex'));
        expect(chain).toBe(naiveChain(entries).toString('hex'));
        expect(subtrees.length).toBe([...size.toString(2)].filter((bit) => bit === '1').length);
      }),
    );
  });
});

describe('canonical JSON', () => {
  test('is that of the examples of RFC 8785', () => {
    const value = JSON.parse(
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
        "string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    );
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
    const sorted = ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'];
    const object = Object.fromEntries([...sorted].reverse().map((name) => [name, 0]));
    expect(canonicalJson(object)).toBe(`{${sorted.map((name) => `${JSON.stringify(name)}:0`).join()}}`);
  });

  test('says the same value, and does not depend on the order of members', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const value = JSON.parse(text);
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
        const turned = JSON.parse(text, (_, inner) =>
          typeof inner === 'object' && inner !== null && !Array.isArray(inner)
            ? Object.fromEntries(Object.entries(inner).reverse())
            : inner,
        );
        expect(canonicalJson(turned)).toBe(canonicalJson(value));
      }),
    );
  });
});

describe('the tree of a workspace', () => {
  const event: RecordedEvent = {
    id: '01977b3e-7e55-7c3d-9f3a-1f3d0c6f0001',
    type: 'PayerUpserted',
    stream: 'clinic.payer-1',
    revision: 0,
    position: 7,
    recordedAt: '2026-03-14T09:30:00.000Z',
    metadata: {
      workspace: 'clinic',
      principal: { type: 'api_key', id: 'key_1' },
      requestId: '01977b3e-7e55-7c3d-9f3a-1f3d0c6f0001',
      $correlationId: '01977b3e-7e55-7c3d-9f3a-1f3d0c6f0001',
      schemaVersion: 1,
    },
    data: { id: '1', name: 'Aetna' },
  };

  test('has leaves that are frozen: another service, or a later one, computes the same', () => {
    expect(eventLeaf(event)).toBe(
      createHash('sha256')
        .update(
          '\0{"data":{"id":"1","name":"Aetna"},"id":"01977b3e-7e55-7c3d-9f3a-1f3d0c6f0001","metadata":' +
            '{"$correlationId":"01977b3e-7e55-7c3d-9f3a-1f3d0c6f0001","principal":{"id":"key_1","type":"api_key"},' +
            '"requestId":"01977b3e-7e55-7c3d-9f3a-1f3d0c6f0001","schemaVersion":1,"workspace":"clinic"},' +
            '"recordedAt":"2026-03-14T09:30:00.000Z","revision":0,"stream":"clinic.payer-1","type":"PayerUpserted"}',
        )
        .digest('hex'),
    );
    expect(eventLeaf({ ...event, position: 8 } as RecordedEvent)).toBe(eventLeaf(event));
  });

  test('keeps every leaf once, in full rows and at last in the head, which stays small', () => {
    const rows = new Map<string, Row<TreeLeavesRow>>();
    const events = Array.from({ length: 2 * LEAVES_A_ROW + 3 }, (_, n) => ({
      ...event,
      revision: n,
      position: 7 + n,
    }));
    let head: Row<TreeHeadRow> | undefined;
    for (const one of events) {
      const [next, ...completed] = [tree.evolve(head, one)].flat();
      head = next as Row<TreeHeadRow>;
      for (const row of completed) rows.set(row.id, row as Row<TreeLeavesRow>);
      expect(head.body.leaves.length).toBeLessThan(LEAVES_A_ROW);
    }
    expect([...rows.values()].map(({ id, partition, order }) => ({ id, partition, order }))).toEqual([
      { id: 'clinic/1', partition: 'clinic', order: 7 + LEAVES_A_ROW - 1 },
      { id: 'clinic/2', partition: 'clinic', order: 7 + 2 * LEAVES_A_ROW - 1 },
    ]);
    const last = head?.body as TreeHeadRow;
    const kept = [...rows.values()].flatMap(({ body }) => body.leaves);
    expect([...kept, ...last.leaves]).toEqual(events.map((one) => [one.position, one.id, eventLeaf(one)]));
    const whole = events.reduce((tree, one) => addLeaf(tree, eventLeaf(one)), emptyTree);
    const { id, recordedAt } = event;
    expect(last).toEqual({ ...whole, leaves: last.leaves, last: { id, recordedAt } });
    expect(head).toMatchObject({ id: 'clinic', position: events.at(-1)?.position, order: 7 });
  });
});
