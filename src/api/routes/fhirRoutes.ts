import type { Route } from '../server/serveEndpoint.ts';
import type { FhirPorts } from './carryMessage.ts';
import { importLines } from './importLines.ts';
import { readCapabilities } from './readCapabilities.ts';
import { sendBundle } from './sendBundle.ts';
import { createResource, updateResource } from './sendResource.ts';

/** FHIR R4: described by its CapabilityStatement, with responses in FHIR's own forms. */
export function fhirRoutes(ports: FhirPorts): Route[] {
  return [
    { method: 'get', endpoint: readCapabilities() },
    { method: 'post', endpoint: sendBundle(ports) },
    // Before resources, whose type it would otherwise be taken for.
    { method: 'post', endpoint: importLines(ports) },
    { method: 'post', endpoint: createResource(ports) },
    { method: 'put', endpoint: updateResource(ports) },
  ];
}
