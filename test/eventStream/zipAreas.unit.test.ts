import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readZipAreas } from '../../src/modules/eventStream/zipAreas.ts';

function areasIn(text: string): Promise<string[]> {
  return readZipAreas(Readable.from([text]));
}

test.each([
  ['one area a line', '681\n\n021\r\n021\n', ['021', '681']],
  ['people by ZCTA, added up', 'zcta,population\n68101,20000\n68102,1\n10001,20000\n', ['681']],
  ['other names and order', '\ufeffTotal_Population,Zip\n"20,001",02139\n', ['021']],
  [
    'a table of the Census, with labels below its names',
    'GEO_ID,NAME,P1_001N\nGeography,Geographic Area Name, !!Total\n8600000US68102,ZCTA5 68102,20001\n',
    ['681'],
  ],
])('%s', async (_name, text, areas) => {
  expect(await areasIn(text)).toEqual(areas);
});

test.each([
  ['nothing', '', 'has no area'],
  ['no area of more than 20,000', 'zip,population\n68102,20000\n', 'has no area'],
  ['000', '681\n000\n', 'line 2 is not the first three digits'],
  ['other columns', 'zip,people\n68102,20001\n', 'columns with ZCTAs'],
  ['a ZCTA twice', 'zip,population\n68102,20001\n68102,20001\n', 'line 3 has a ZCTA that is also'],
  ['a ZCTA without people', 'zip,population\n68102,1\n68103,\n', 'line 3 has no ZCTA of five digits'],
  ['something else between', 'zip,population\n68102,1\nOmaha,20001\n', 'line 3 has no ZCTA of five digits'],
  ['a quote that never ends', 'zip,population\n"68102,20001\n', 'is not well-formed CSV'],
])('a file with %s is refused, and none of it is repeated', async (_name, text, message) => {
  await expect(areasIn(text)).rejects.toThrow(message);
  await expect(areasIn(text)).rejects.not.toThrow(/Omaha/);
});
