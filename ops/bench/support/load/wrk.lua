-- Sends the requests that stand on standard input, drawn at random, each time with another number in place of the mark.
local MARK = string.rep('@', 16)
local heads, tails, turn = {}, {}, 0

-- args: the first number.
function init(args)
  turn = tonumber(args[1])
  math.randomseed(turn)
  for text in io.read('*a'):gmatch('[^\30]+') do
    local from, to = text:find(MARK, 1, true)
    heads[#heads + 1] = from and text:sub(1, from - 1) or text
    tails[#heads] = from and text:sub(to + 1)
  end
  io.write('ready\n')
  io.flush()
end

function request()
  local drawn = math.random(#heads)
  local tail = tails[drawn]
  if not tail then return heads[drawn] end
  turn = turn + 1
  return heads[drawn] .. string.format('%016.0f', turn) .. tail
end

-- The last line is JSON: times in microseconds, latencies as pairs of a value and how many requests took that long.
function done(summary, latency)
  local pairs = {}
  for index = 1, #latency do pairs[index] = string.format('[%d,%d]', latency(index)) end
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format(
    '\n{"requests":%d,"failed":%d,"status":%d,"timeouts":%d,"microseconds":%d,"latencies":[%s]}\n',
    summary.requests, failed, errors.status, errors.timeout, summary.duration, table.concat(pairs, ',')
  ))
end
