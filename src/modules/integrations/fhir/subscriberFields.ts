import { type MessageIndex, personSchema } from './MessageIndex.ts';
import { referredResource } from './referredResource.ts';
import { addressFields } from './resources/addressFields.ts';
import { chooseAddress, chooseName } from './resources/choose.ts';
import type { Reference } from './resources/dataTypes.ts';

/** Returns what the message says about the subscriber named by a coverage; nothing where it does not mention them. */
export function subscriberFields(
  reference: Reference | undefined,
  owner: unknown,
  index: MessageIndex,
  at: number,
): Record<string, unknown> {
  const person = personSchema.safeParse(reference && referredResource(reference, owner, index));
  if (!person.success) return {};
  const { name, birthDate, address } = person.data;
  const chosen = chooseName(name, at);
  const { address_line_1, city, state, zip_code, country } = addressFields(chooseAddress(address, at));
  return {
    ...(chosen?.given?.[0] && { subscriber_first_name: chosen.given[0] }),
    ...(chosen?.family && { subscriber_last_name: chosen.family }),
    ...(birthDate && { subscriber_date_of_birth: birthDate }),
    ...(address_line_1 && { subscriber_address_line_1: address_line_1 }),
    ...(city && { subscriber_city: city }),
    ...(state && { subscriber_state: state }),
    ...(zip_code && { subscriber_zip_code: zip_code }),
    ...(country && { subscriber_country: country }),
  };
}
