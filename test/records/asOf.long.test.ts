import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dottedFields } from '../../src/domain/records/fold.ts';
import type { RecordFields } from '../../src/domain/records/schema/kind.ts';
import { linesAsked, listed, nextMoment } from '../support/asOf.ts';
import { runInWorkspace } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, paths, pdf, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

const LONG_MS = 240_000;

type Fields = Record<string, unknown>;
type Kind = 'payer' | 'patient' | 'encounter';

/** What an operation did to a record or document: `kind/id`, or `document/encounter/id`. */
interface Effect {
  key: string;
  at: number;
  by: string;
  /** Merged into the fields; undefined: removed; `erased`. */
  fields: Fields | undefined | 'erased';
}

/** What the operations did, folded without the service. */
class Model {
  readonly effects: Effect[] = [];
  /** Of each operation, a time after it and before the next one; the first is before all of them. */
  readonly moments: string[] = [];

  keys(): string[] {
    return [...new Set(this.effects.map(({ key }) => key))];
  }

  /** The fields as of a moment, as they may still be shown; undefined: none. */
  at(key: string, moment: number): Fields | undefined {
    const own = this.effects.filter((effect) => effect.key === key);
    const erased = own.findLast(({ fields }) => fields === 'erased')?.at ?? -1;
    let state: Fields | undefined;
    for (const { at, fields } of own) {
      if (at <= erased || at > moment || fields === 'erased') continue;
      state = fields && { ...(key.startsWith('document/') ? {} : state), ...fields };
      for (const [name, value] of Object.entries(state ?? {})) if (value === null) delete state?.[name];
    }
    return state;
  }

  /** What became of a record between two moments, with the senders of the last changes. */
  difference(key: string, since: number, until: number) {
    const own = this.effects.filter((effect) => effect.key === key);
    const between = own.filter(({ at }) => at > since && at <= until);
    if (between.at(-1)?.fields === 'erased') return { change: 'erased', fields: [] };
    const [before, after] = [this.at(key, since), this.at(key, until)];
    const names = Object.keys({ ...before, ...after }).filter((name) => name !== 'id');
    const fields = names.flatMap((name) => {
      const one = (state: Fields | undefined) => dottedFields({ [name]: state?.[name] } as RecordFields);
      const [from, to] = [one(before), one(after)];
      const writer = between.findLast(
        ({ at }) => JSON.stringify(this.at(key, at)?.[name]) !== JSON.stringify(this.at(key, at - 1)?.[name]),
      );
      return [...new Set([...from.keys(), ...to.keys()])]
        .map((field) => [field, from.get(field) ?? null, to.get(field) ?? null, writer?.by] as const)
        .filter(([, then, now]) => then !== now);
    });
    if (fields.length === 0) return undefined;
    const isDocument = key.startsWith('document/');
    const change = before === undefined ? 'created' : after || !isDocument ? 'changed' : 'removed';
    return { change, fields: fields.toSorted() };
  }
}

onEveryEngine((start) => {
  let service: TestService;
  let senders: { id: string; client: Client }[];
  let reader: Client;
  beforeAll(async () => {
    service = await start();
    senders = await Promise.all(
      [0, 1].map(async () => {
        const { id, key } = await service.createKey('clinic');
        return { id, client: service.as(key) };
      }),
    );
    reader = service.as((await service.createKey('clinic', ['read', 'events'])).key);
  });
  afterAll(() => service.stop());

  const operation = fc.record({
    does: fc.constantFrom(
      'write',
      'write',
      'write',
      'insure',
      'visit',
      'void',
      'merge',
      'file',
      'unfile',
      'erase',
    ),
    who: fc.nat({ max: 1 }),
    which: fc.nat({ max: 2 }),
    kind: fc.constantFrom<Kind>('payer', 'patient'),
    field: fc.constantFrom('city', 'state', 'zip_code'),
    value: fc.constantFrom('MA', 'NE', null),
  });
  type Operation = typeof operation extends fc.Arbitrary<infer One> ? One : never;

  /** Carries out operations, and returns what a model makes of them. */
  async function carryOut(operations: Operation[]): Promise<Model> {
    const model = new Model();
    const pool = [0, 1, 2].map(() => ({
      ...{ payer: samples.payer(), patient: samples.patient(), merged: samples.patient() },
      ...{ encounter: phi('encounter'), document: phi('document') },
    }));
    const insurer = samples.payer();
    await senders[0]?.client.post(paths.payer, insurer);
    model.moments.push(await nextMoment());
    for (const { does, who, which, kind, field, value } of operations) {
      const at = model.moments.length;
      const { id: by, client } = senders[who] as (typeof senders)[number];
      const one = pool[which] as (typeof pool)[number];
      const write = async (kind: Kind, fields: Fields) => {
        expect((await client.post(paths[kind], fields)).status).toBe(200);
        model.effects.push({ key: `${kind}/${fields.id}`, at, by, fields });
      };
      const now = (key: string) => model.at(key, at);
      const base = { ...one.patient, country: 'US' };
      const erasedOnce = (key: string) =>
        model.effects.some((effect) => effect.key === key && effect.fields === 'erased');
      const filed = `document/${one.encounter}/${one.document}`;
      const file = documentsPath(one.encounter, one.document);
      if (does === 'write' && kind === 'payer')
        await write('payer', { ...one.payer, country: 'US', [field]: value });
      else if (does === 'write') await write('patient', { ...base, [field]: value });
      else if (does === 'insure')
        await write('patient', {
          ...base,
          primary_insurance: { payer_id: insurer.id, policy_number: `P-${value ?? field}` },
        });
      else if (does === 'merge') {
        const into = pool[(which + 1) % 3]?.merged.id as string;
        for (const id of [into, one.merged.id]) {
          if (now(`patient/${id}`)) continue;
          await write('patient', { ...one.merged, id, country: 'US' });
        }
        if (which < 2) await write('patient', { ...one.merged, country: 'US', merged_into: into });
      } else if (does === 'erase') {
        const [erased, id] = kind === 'payer' ? [kind, one.payer.id] : [kind, one.patient.id];
        if (now(`${erased}/${id}`) && !erasedOnce(`${erased}/${id}`)) {
          const args = ['records', 'erase', erased, id, '--reason', 'Test', '--with-encounters'];
          const { code, stderr } = await runInWorkspace(
            service,
            ...(kind === 'payer' ? args.slice(0, -1) : args),
          );
          expect([code, stderr]).toEqual([0, expect.any(String)]);
          const others = kind === 'payer' ? [] : [`encounter/${one.encounter}`, filed];
          for (const key of [`${erased}/${id}`, ...others]) {
            const isThere = model.effects.some((effect) => effect.key === key);
            if (isThere) model.effects.push({ key, at, by: 'operator', fields: 'erased' });
          }
        }
      } else if (!erasedOnce(`patient/${one.patient.id}`)) {
        if (!now(`patient/${one.patient.id}`)) await write('patient', base);
        const visit = { id: one.encounter, patient_id: one.patient.id };
        if (does === 'visit' || !now(`encounter/${one.encounter}`))
          await write('encounter', { ...visit, status: value ?? field });
        if (does === 'void')
          await write('encounter', { ...visit, voided_at: value && '2026-03-14T09:30:00.000Z' });
        else if (does === 'file') {
          const content = pdf(value ?? field);
          const form = documentForm({ document_id: one.document, content, filename: 'a.pdf' });
          expect((await client.upload(documentsPath(one.encounter), form)).status).toBe(200);
          const sha256 = createHash('sha256').update(content).digest('hex');
          model.effects.push({
            key: filed,
            at,
            by,
            fields: { file: 'a.pdf', category: 'lab_results', sha256 },
          });
        } else if (does === 'unfile' && now(filed)) {
          expect((await client.delete(file)).status).toBe(200);
          model.effects.push({ key: filed, at, by, fields: undefined });
        }
      }
      model.moments.push(await nextMoment());
    }
    return model;
  }

  test(
    'whatever was written, merged, voided and erased: lists, snapshots and differences are those of a model',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { minLength: 25, maxLength: 30 }), async (operations) => {
          const model = await carryOut(operations);
          const last = model.moments.length - 1;
          const keys = model.keys();
          for (const moment of [0, Math.floor(last / 3), Math.floor((2 * last) / 3), last]) {
            const as_of = model.moments[moment] as string;
            const expected = (kind: string) =>
              new Map(
                keys
                  .filter((key) => key.startsWith(`${kind}/`) && model.at(key, moment))
                  .map((key) => [key, model.at(key, moment)] as const),
              );
            for (const kind of ['payer', 'patient', 'encounter'] as const) {
              const items = await listed(reader, paths[kind], { as_of });
              const own = items.filter(({ id }) => keys.includes(`${kind}/${id}`));
              expect(new Map(own.map(({ id, record }) => [`${kind}/${id}`, record]))).toEqual(expected(kind));
              expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
              const snapshot = await linesAsked(reader, `/integration/snapshot?kind=${kind}&as_of=${as_of}`);
              const lines = snapshot.filter(({ subject }) => keys.includes(subject as string));
              expect(new Map(lines.map(({ subject, record }) => [subject, record]))).toEqual(expected(kind));
              expect(snapshot.at(-1)).toEqual({ end: { count: items.length, unreadable: 0 } });
            }
            const documents = new Map<string, string>();
            const encounters = keys.filter((one) => one.startsWith('encounter/') && model.at(one, last));
            for (const encounter of encounters.map((key) => key.slice('encounter/'.length))) {
              for (const one of await listed(reader, documentsPath(encounter), { as_of }))
                documents.set(
                  `document/${encounter}/${one.document_id}`,
                  (one as unknown as Fields).sha256 as string,
                );
            }
            const filed = [...expected('document')].map(([key, fields]) => [key, fields?.sha256]);
            expect([...documents].toSorted()).toEqual(filed.toSorted());
            for (const since of [0, Math.floor(moment / 2)].filter((one) => one < moment)) {
              const differing = keys.flatMap((key) => {
                const found = model.difference(key, since, moment);
                return found ? [[key, found] as const] : [];
              });
              const asked = new URLSearchParams({ since: model.moments[since] as string, until: as_of });
              const [, ...lines] = await linesAsked(reader, `/integration/diff?${asked}`);
              const end = lines.pop() as { end: { records: Record<string, Record<string, number>> } };
              expect(new Map(lines.map((line) => differenceIn(line)))).toEqual(new Map(differing));
              const counted = Object.values(end.end.records).flatMap((counts) => Object.values(counts));
              expect(counted.reduce((sum, count) => sum + count, 0)).toBe(differing.length);
            }
          }
        }),
        { numRuns: 2 },
      );
    },
    LONG_MS,
  );

  interface Line {
    kind: string;
    id: string;
    document_id?: string;
    change: string;
    fields: { field: string; from: unknown; to: unknown; principal: { id: string } }[];
  }
  function differenceIn(line: Fields) {
    const { kind, id, document_id, change, fields } = line as unknown as Line;
    const key = [kind, id, ...(document_id === undefined ? [] : [document_id])].join('/');
    const listed = fields.map(({ field, from, to, principal }) => [field, from, to, principal.id] as const);
    return [key, { change, fields: listed.toSorted() }] as const;
  }
});
