import { readAsyncApi } from './readAsyncApi.ts';
import { readEventSchema } from './readEventSchema.ts';
import { readEvents } from './readEvents.ts';
import { readSnapshot } from './readSnapshot.ts';

/** The endpoints of the event stream and its catalogue; `openapiPublic`: the catalogue needs no key. */
export const eventEndpoints = (openapiPublic: boolean) => [
  readEvents(),
  readSnapshot(),
  readAsyncApi(openapiPublic),
  readEventSchema(openapiPublic),
];
