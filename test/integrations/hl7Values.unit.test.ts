import { describe, expect, test } from 'vitest';
import { dayOf, momentOf, timeProblem } from '../../src/modules/integrations/hl7/context.ts';
import { decode, encode, splitMessages } from '../../src/modules/integrations/hl7/framing.ts';
import {
  escapeText,
  parseMessage,
  unescapeText,
  usualDelimiters,
} from '../../src/modules/integrations/hl7/parser.ts';

import { hl7Fixture, hl7Message, mapped, pid } from './hl7Messages.ts';

describe('times', () => {
  test.each([
    ['20260314', '2026-03-14'],
    ['2026031409', '2026-03-14T09:00:00-05:00'],
    ['202603140930', '2026-03-14T09:30:00-05:00'],
    ['202601140930', '2026-01-14T09:30:00-06:00'],
    ['20260314093015.1234', '2026-03-14T09:30:15.1234-05:00'],
    ['20260314093015+0000', '2026-03-14T09:30:15Z'],
    ['202603140930-0330', '2026-03-14T09:30:00-03:30'],
    ['202603140930+0545', '2026-03-14T09:30:00+05:45'],
  ])('%s is %s', (text, moment) => {
    expect(momentOf(text, 'America/Chicago')).toBe(moment);
  });

  test.each([
    ['before clocks are set forward', 'America/New_York', '20260308015900', '2026-03-08T01:59:00-05:00'],
    ['that clocks never show', 'America/New_York', '20260308023000', '2026-03-08T02:30:00-05:00'],
    ['after that', 'America/New_York', '20260308030000', '2026-03-08T03:00:00-04:00'],
    ['that clocks show twice', 'America/New_York', '20261101013000', '2026-11-01T01:30:00-04:00'],
    ['after that', 'America/New_York', '20261101020000', '2026-11-01T02:00:00-05:00'],
    ['in a zone ahead of UTC, twice', 'Europe/Berlin', '20261025023000', '2026-10-25T02:30:00+02:00'],
    ['in a zone ahead of UTC, never', 'Europe/Berlin', '20260329023000', '2026-03-29T02:30:00+01:00'],
    [
      'where clocks are set by half an hour, never',
      'Australia/Lord_Howe',
      '20261004021500',
      '2026-10-04T02:15:00+10:30',
    ],
    ['where the zone is UTC', 'UTC', '20260314093000', '2026-03-14T09:30:00Z'],
  ])('a time %s (%s)', (_, timeZone, text, moment) => {
    expect(momentOf(text, timeZone)).toBe(moment);
  });

  test.each([
    '',
    '2026',
    '202603',
    '20260230',
    '20260314T0930',
    '2026031424',
    '202603140960',
    '0026031409',
    '202603140930+1500',
    'soon',
  ])('%j is none', (text) => {
    expect(momentOf(text, 'UTC')).toBeUndefined();
  });

  test('the day of a time is where it was written', () => {
    expect(dayOf('19840229233000-0800')).toBe('1984-02-29');
    expect(dayOf('19830229')).toBeUndefined();
  });

  test.each([
    ['29.02.1984', 'This is not written as YYYYMMDD or YYYYMMDDHHMM, without separators.'],
    ['1984-02-29', 'This is not written as YYYYMMDD or YYYYMMDDHHMM, without separators.'],
    ['1984', 'The month and the day are missing.'],
    ['198413', 'The month is not one of 01 to 12.'],
    ['19841301', 'The month is not one of 01 to 12.'],
    ['19840001', 'The month is not one of 01 to 12.'],
    ['198402', 'The day is missing.'],
    ['19830229', 'The month does not have this day.'],
    ['19830200', 'The month does not have this day.'],
    ['1984022924', 'The hour is not one of 00 to 23.'],
    ['198402291060', 'The minute is not one of 00 to 59.'],
    ['19840229101060', 'The second is not one of 00 to 59.'],
    ['198402291010+1500', 'The offset from UTC is not one of -1400 to +1400.'],
    ['198402291010', undefined],
  ])('the problem of %j is %j', (text, problem) => {
    expect(timeProblem(text)).toBe(problem);
    expect(momentOf(text, 'UTC') === undefined).toBe(problem !== undefined);
  });

  test('of a day, what follows it does not matter', () => {
    expect(timeProblem('1984022924', true)).toBeUndefined();
    expect(timeProblem('19841329', true)).toBe('The month is not one of 01 to 12.');
  });

  test('one that is none is left out with a warning', () => {
    const visit: [string, Record<number, string>] = ['PV1', { 19: 'V', 44: '202603' }];
    const said = mapped(hl7Message('ADT^A03', [['PID', { 3: 'P' }], visit]), { time_zone: 'UTC' });
    expect(said).toMatchObject({
      operations: [{ fields: { id: 'V', patient_id: 'P', status: 'finished', is_completed: true } }],
      issues: [
        {
          ...{ severity: 'warning', code: '102', location: 'PV1^1^44^1^1' },
          text: 'The day is missing. The time is ignored.',
        },
      ],
    });
  });
});

describe('escape sequences', () => {
  test.each([
    ['a\\F\\b\\S\\c\\T\\d\\R\\e\\E\\f', 'a|b^c&d~e\\f'],
    ['one\\.br\\two\\.sp2\\three', 'one\ntwo\n\nthree'],
    ['\\H\\loud\\N\\', 'loud'],
    ['Ren\\XC3A9\\e', 'Renée'],
    ['\\Zlocal\\x\\C2842\\y', 'xy'],
    ['C:\\temp\\new', 'C:\\temp\\new'],
    ['a\\b', 'a\\b'],
    ['\\XGG\\ \\', '\\XGG\\ \\'],
    ['\\XED\\', '\\XED\\'],
    ['\\E\\\\F\\', '\\|'],
  ])('%s', (text, plain) => {
    expect(unescapeText(text, usualDelimiters, 'utf-8')).toBe(plain);
  });

  test('a text that was escaped is the same again', () => {
    const text = 'a|b^c&d~e\\f \\F\\';
    expect(unescapeText(escapeText(text, usualDelimiters), usualDelimiters, 'utf-8')).toBe(text);
  });
});

describe('character sets', () => {
  test.each([
    ['UNICODE UTF-8', Buffer.from('Ren\u00e9e \u20ac')],
    ['8859/15', Buffer.from('Ren\xe9e \xa4', 'latin1')],
    ['WINDOWS-1252', Buffer.from('Ren\xe9e \x80', 'latin1')],
  ])('%s', (name, bytes) => {
    const [before, after] = hl7Message('ADT^A28', [['PID', { ...pid[1], 5: 'X^?' }]], { 18: name }).split(
      '?',
    );
    const message = Buffer.concat([Buffer.from(before as string), bytes, Buffer.from(after as string)]);
    expect(mapped(message)).toMatchObject({ operations: [{ fields: { first_name: 'Renée €' } }] });
    expect(parseMessage(message).header.text(18)).toBe(name);
  });

  test('what a character set does not have is a question mark', () => {
    expect(encode('é €', 'iso-8859-15')).toEqual(Buffer.from('\xe9 \xa4', 'latin1'));
    expect(decode(encode('é 漢', 'iso-8859-15'), 'iso-8859-15')).toBe('é ?');
  });
});

describe('a body', () => {
  test('may be the envelope of a batch, or messages one after another', () => {
    const events = (body: Buffer) => splitMessages(body).map((bytes) => parseMessage(bytes).event);
    expect(events(hl7Fixture('batch'))).toEqual(['A28', 'A13']);
    const plain = Buffer.concat([
      Buffer.from('\ufeff'),
      hl7Fixture('adt-a03-discharge'),
      hl7Fixture('siu-s12-booked'),
    ]);
    expect(events(plain)).toEqual(['A03', 'S12']);
    const framed = Buffer.concat([Buffer.from('\v'), hl7Fixture('adt-a03-discharge'), Buffer.from('\x1c\r')]);
    expect(events(framed)).toEqual(['A03']);
  });

  test.each(['', '\r\n', 'hello', '{"id": 1}', 'PID|1\rMSH|^~\\&|', 'BHS|^~\\&\rBTS|0', 'BHS|^~\\&\rPID|1'])(
    '%j is refused',
    (text) => {
      expect(() => splitMessages(Buffer.from(text))).toThrow(
        expect.objectContaining({ code: 'malformed_body' }),
      );
    },
  );
});
