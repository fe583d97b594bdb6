import type { Address, ContactPoint, HumanName, Period } from './dataTypes.ts';
import { inForce } from './inForce.ts';

interface Usable {
  use?: string | undefined;
  period?: Period | undefined;
}

/** Uses in order of preference; '' means none given. A use that is not listed is not accepted. */
type Uses = readonly string[];

const nameUses: Uses = ['official', 'usual', '', 'temp', 'nickname', 'maiden'];
const addressUses: Uses = ['home', '', 'work', 'temp', 'billing'];
const contactUses: Uses = ['mobile', 'home', '', 'work', 'temp'];
const workUses: Uses = ['work', '', 'mobile', 'home', 'temp'];

/**
 * Returns the name to show: a complete one comes first, then one in force before one that is not, then an official
 * one before others.
 */
export function chooseName(names: readonly HumanName[] | undefined, at: number): HumanName | undefined {
  const whole = names?.filter(({ family, given }) => family && given?.[0]);
  return choose(whole, nameUses, at) ?? choose(names, nameUses, at);
}

/** Returns where somebody lives, or where a place is. */
export function chooseAddress(addresses: readonly Address[] | undefined, at: number): Address | undefined {
  return choose(addresses, addressUses, at);
}

/** Returns the preferred value among the contact points of a system (`phone`, `email`, `fax`, `url`). */
export function chooseContact(
  points: readonly ContactPoint[] | undefined,
  system: string,
  at: number,
  whose: 'person' | 'work' = 'person',
): string | undefined {
  const own = points?.filter((point) => point.system === system && point.value !== undefined);
  const ranked = own?.toSorted((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity));
  return choose(ranked, whose === 'person' ? contactUses : workUses, at)?.value;
}

/** Returns the first of the best use among those in force; a former one is used only where there is nothing else. */
function choose<One extends Usable>(
  all: readonly One[] | undefined,
  uses: Uses,
  at: number,
): One | undefined {
  const placeOf = ({ use = '' }: Usable) => uses.indexOf(use);
  const usable = (all ?? []).filter((one) => placeOf(one) >= 0);
  const present = usable.filter((one) => inForce(one, at));
  return (present.length > 0 ? present : usable).toSorted((a, b) => placeOf(a) - placeOf(b))[0];
}
