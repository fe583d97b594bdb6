import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalJson } from '../../../src/domain/events/canonicalJson.ts';
import type { JsonObject, RecordedEvent } from '../../../src/domain/events/event.ts';
import { eventLeaf, storedLeaf } from '../../../src/domain/merkle.ts';
import type { EventLog } from '../../../src/storage/eventLog.ts';

import { TestWorkspace } from '../../support/samples.ts';

export function eventLogReads(open: () => Promise<EventLog>): void {
  const workspace = new TestWorkspace();
  const ten = workspace.stream('ten');
  let log: EventLog;
  beforeAll(async () => {
    log = await open();
    for (let n = 0; n < 10; n += 1) await workspace.append(log, ten, { n });
  });
  afterAll(() => log.close());

  const pages: [string, Parameters<EventLog['readStream']>[1], number[]][] = [
    ['from its beginning', { limit: 3 }, [0, 1, 2]],
    ['whole', { limit: 100 }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    ['from a revision', { from: 7, limit: 100 }, [7, 8, 9]],
    ['from a revision, limited', { from: 4, limit: 2 }, [4, 5]],
    ['from beyond its end', { from: 10, limit: 5 }, []],
    ['from far beyond its end', { from: 1_000_000, limit: 5 }, []],
    ['backwards from its end', { direction: 'backwards', limit: 3 }, [9, 8, 7]],
    ['backwards, whole', { direction: 'backwards', limit: 100 }, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
    ['backwards from a revision', { direction: 'backwards', from: 2, limit: 100 }, [2, 1, 0]],
    ['backwards from its first event', { direction: 'backwards', from: 0, limit: 5 }, [0]],
    ['backwards from beyond its end', { direction: 'backwards', from: 50, limit: 2 }, [9, 8]],
  ];
  test.each(pages)('a stream is read %s', async (_, options, revisions) => {
    const events = await log.readStream(ten, options);
    expect(events.map(({ revision, data }) => [revision, data])).toEqual(revisions.map((n) => [n, { n }]));
  });

  test.each(['forwards', 'backwards'] as const)(
    'a stream that does not exist is empty, %s',
    async (direction) => {
      expect(await log.readStream(workspace.stream(), { direction, limit: 10 })).toEqual([]);
      expect(await log.readStream(workspace.stream(), { direction, from: 3, limit: 10 })).toEqual([]);
    },
  );

  test('an event is read as it was appended, with its place and its time', async () => {
    const stream = workspace.stream();
    const event = workspace.event({ a: 1 });
    event.metadata = {
      ...event.metadata,
      principal: { type: 'api_key', id: 'key_1' },
      clientIp: '2001:db8::1',
      userAgent: 'EMR/1.0 (ü; "quoted")',
    };
    const place = await log.append(stream, event, 'none');
    const [{ dataText, metadataText: _text, ...read } = {} as RecordedEvent] = await log.readStream(stream, {
      limit: 1,
    });
    expect(read).toEqual({ ...event, ...place, stream, recordedAt: expect.any(String) });
    expect(JSON.parse(dataText ?? JSON.stringify(read.data))).toEqual(event.data);
    expect(read.recordedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Math.abs(Date.parse(read.recordedAt) - Date.now())).toBeLessThan(600_000);
  });

  const values: [string, JsonObject][] = [
    ['nothing', {}],
    ['other scripts and emoji', { name: 'Zoë 中文 العربية 👩‍⚕️ 🏳️‍🌈', ключ: '값' }],
    ['control characters', { text: '\u0000\u0001\b\t\n\f\r\u001f\u007f\u0085\u2028\u2029\ufeff' }],
    ['a lone surrogate', { text: '\ud800 and \udfff' }],
    ['quotes and backslashes', { text: '"\\\' \\u0041 </script>' }],
    [
      'keys of the prototype',
      JSON.parse('{"__proto__": {"admin": true}, "constructor": 1, "toString": null}'),
    ],
    ['numbers', { list: [0, -1, 1.5, 1e21, -1e-7, Number.MAX_SAFE_INTEGER, Number.MIN_VALUE] }],
    ['empty things', { a: null, b: '', c: [], d: {}, e: false, '': 'empty key' }],
    ['order of keys', { z: 1, a: 2, 10: 3, 9: 4 }],
  ];
  test.each(values)('data with %s comes back the same', async (_, data) => {
    const stream = workspace.stream();
    await workspace.append(log, stream, data);
    const [event] = await log.readStream(stream, { limit: 1 });
    expect(canonicalJson(event?.data ?? [])).toBe(canonicalJson(data));
    expect(Object.getPrototypeOf(event?.data)).toBe(Object.prototype);
  });

  test('deeply nested data comes back the same', async () => {
    const stream = workspace.stream();
    const json = `{"list":${'['.repeat(500)}${']'.repeat(500)},"object":${'{"a":'.repeat(500)}1${'}'.repeat(500)}}`;
    await workspace.append(log, stream, JSON.parse(json));
    const [event] = await log.readStream(stream, { limit: 1 });
    expect(JSON.stringify(event?.data)).toBe(json);
  });

  test.each(values)(
    'the leaf of data with %s is the same, of stored texts and of the event',
    async (what, data) => {
      const stream = workspace.stream(`ü " \\ ${what}`);
      const event = workspace.event(data, 'Tested "so"');
      await log.append(stream, event, 'none');
      const [read] = (await log.readStream(stream, { limit: 1 })) as [RecordedEvent];
      expect(storedLeaf(read)).toBe(eventLeaf(read));
      expect(storedLeaf(read)).toBe(eventLeaf({ ...read, data, metadata: event.metadata }));
    },
  );

  const names: [string, string][] = [
    ['an encoded id', `patient-${encodeURIComponent('a/b c%ü👩‍⚕️')}`],
    ['an encoded pair', 'document-enc%252F1%2Fdoc%252F2'],
    ['characters with a meaning elsewhere', 'x\'";--*?_%[]()\\:@ '],
    ['other scripts', 'ü-中文-👩‍⚕️'],
    ['1 KB', 'n'.repeat(1_000)],
    ['10 KB', 'n'.repeat(10_000)],
  ];
  test.each(names)('a stream name with %s is a stream of its own', async (_, name) => {
    const stream = workspace.stream(name);
    const other = workspace.stream(`${name.slice(0, -1)}~`);
    await workspace.append(log, stream, { name: 'this' }, 'none');
    await workspace.append(log, other, { name: 'other' }, 'none');
    const events = await log.readStream(stream, { limit: 10 });
    expect(events.map((event) => [event.stream, event.data])).toEqual([[stream, { name: 'this' }]]);
  });

  test('stream names that differ in case or encoding only are different streams', async () => {
    const names = [
      'case-a',
      'case-A',
      'case-%41',
      'case-%2F',
      'case-%2f',
      'case-/',
      'case-a ',
      'case-\u00e1',
      'case-a\u0301',
    ];
    for (const name of names) await workspace.append(log, workspace.stream(name), { name }, 'none');
    for (const name of names) {
      const events = await log.readStream(workspace.stream(name), { limit: 10 });
      expect(events.map(({ data }) => data)).toEqual([{ name }]);
    }
  });

  test('times do not run backwards within a stream', async () => {
    const stream = workspace.stream();
    await workspace.appendMany(log, 50, [stream]);
    await workspace.appendMany(log, 50, [stream]);
    const times = (await log.readStream(stream, { limit: 100 })).map(({ recordedAt }) => recordedAt);
    expect(times).toHaveLength(100);
    expect(times).toEqual([...times].sort());
  });

  test('the head covers every acknowledged append, also those of another connection', async () => {
    const other = await open();
    try {
      for (let n = 0; n < 10; n += 1) {
        const { position } = await workspace.append(n % 2 ? log : other, workspace.stream());
        expect(await log.head()).toBeGreaterThanOrEqual(position);
        expect(await other.head()).toBeGreaterThanOrEqual(position);
      }
    } finally {
      await other.close();
    }
  });

  test('what one connection appended another reads at once', async () => {
    const other = await open();
    try {
      const stream = workspace.stream();
      for (let n = 0; n < 10; n += 1) {
        await workspace.append(n % 2 ? log : other, stream, { n }, n === 0 ? 'none' : n - 1);
        const [last] = await (n % 2 ? other : log).readStream(stream, { direction: 'backwards', limit: 1 });
        expect(last?.data).toEqual({ n });
      }
    } finally {
      await other.close();
    }
  });
}
