import type { FhirEntry } from '../../modules/integrations/fhir/FhirEntry.ts';
import { refused } from '../../modules/integrations/fhir/resources/issue.ts';
import { resourceTypes, typeOf } from '../../modules/integrations/fhir/resources/mapResource.ts';
import type { EntryOutcome } from '../../modules/integrations/fhir/sendMessage.ts';
import { versionOf } from '../../modules/integrations/fhir/versionOf.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Answer } from '../server/answer.ts';
import type { Exchange } from '../server/exchange.ts';
import type { ServedEndpoint } from '../server/serveEndpoint.ts';
import { carryMessage, type FhirPorts, type Message } from './carryMessage.ts';
import { FHIR_JSON, FhirRefusal, operationOutcome } from './fhirAnswer.ts';
import { fhirEndpoint, requireType } from './fhirEndpoint.ts';
import { readFhir } from './readFhir.ts';
import { locationOf } from './sendBundle.ts';

/** `POST /fhir/{Type}` (FHIR R4, 3.1.0.8): its record is identified by the resource's own id or identifier. */
export function createResource(ports: FhirPorts): ServedEndpoint {
  return resourceEndpoint(ports, '/fhir/:type', ({ req }) => {
    const query = req.get('if-none-exist');
    return { query, ifAbsent: query !== undefined };
  });
}

/** `PUT /fhir/{Type}/{id}` (FHIR R4, 3.1.0.7). */
export function updateResource(ports: FhirPorts): ServedEndpoint {
  return resourceEndpoint(ports, '/fhir/:type/:id', ({ req }) => {
    const ifMatch = versionOf(req.get('if-match'));
    if (ifMatch === 'invalid') {
      throw new FhirRefusal('validation_failed', [
        refused('invalid', '', 'Send If-Match in the form W/"3".'),
      ]);
    }
    return { id: String(req.params.id), ifMatch };
  });
}

function resourceEndpoint(
  ports: FhirPorts,
  route: string,
  ask: (exchange: Exchange) => Partial<FhirEntry>,
): ServedEndpoint {
  return fhirEndpoint(route, async (exchange) => {
    const { type } = exchange.req.params;
    if (!resourceTypes.includes(String(type))) {
      throw new ServiceError(
        'not_found',
        `Resources of this type are not supported. The supported types are ${resourceTypes.join(', ')}.`,
      );
    }
    requireType(exchange, String(type));
    const asked = ask(exchange);
    const { value: resource, bytes } = await readFhir(exchange);
    if (typeOf(resource) !== type) {
      const text = 'It must match the type in the address that the resource is sent to.';
      throw new FhirRefusal('validation_failed', [refused('invalid', 'Resource.resourceType', text)]);
    }
    const entries = [{ at: '', resource, ...asked }];
    const message = () => ({
      ...{ entries, isAtomic: true, route, bytes: [bytes] },
      request: requestOf(asked),
    });
    const [outcome] = await carryMessage(ports, exchange, message, { isOne: true });
    return answerOf(outcome as EntryOutcome);
  });
}

/** Returns it in the form kept with the message. */
function requestOf({ id, query, ifAbsent, ifMatch }: Partial<FhirEntry>): Message['request'] {
  return {
    ...(id !== undefined && { id }),
    ...(query !== undefined && { query }),
    ...(ifAbsent && { if_absent: true }),
    ...(ifMatch !== undefined && { if_match: ifMatch }),
  };
}

function answerOf(outcome: EntryOutcome): Answer {
  const { issues, result } = outcome;
  const body = operationOutcome(issues);
  if (result === undefined || !('version' in result)) return { type: FHIR_JSON, body };
  return {
    status: result.outcome === 'created' ? 201 : 200,
    headers: {
      Location: `/fhir/${locationOf(outcome)}/_history/${result.version}`,
      ETag: `W/"${result.version}"`,
    },
    ...{ type: FHIR_JSON, body },
  };
}
