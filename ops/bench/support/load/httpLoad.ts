import { autocannonLoad } from './autocannonLoad.ts';
import { clientName } from './clientName.ts';
import { carryOutOrders } from './measuringProcess.ts';
import { wrkLoad } from './wrkLoad.ts';

const usesWrk = clientName().startsWith('wrk');

// Only autocannon can send each request of a list once.
carryOutOrders((order) => (usesWrk && !order.once ? wrkLoad(order) : autocannonLoad(order)));
