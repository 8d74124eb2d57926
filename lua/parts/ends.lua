-- ends.lua: ends completed jobs that have a follower each, ready at once, or a unique key, or both, but no batch.
--
--   after unique.lua

-- Fails if LREM is not permitted. A key of another type does not matter here. Laravel leaves a hint for each job: a
-- long list is not searched, but the client's record is asked, which is no list.
local function ask_to_take_back(queue)
  local hints = redis.pcall('LLEN', queue.notify)
  local is_short = type(hints) == 'number' and hints <= MOST_JOBS
  local reply = redis.pcall('LREM', is_short and queue.notify or KEYS[1], 1, nobody())
  if type(reply) == 'table' and not find(reply.err, 'WRONGTYPE', 1, true) then error(reply) end
end

-- Checking each reservation first would take longer than removing it. So the follower of a job that turns out to be
-- lost is removed again; it is at the end of the list.
local function end_each(turn, queue, first, count, width, is_followed, key_at)
  local args, keys, ties, texts, results = ARGV, {}, {}, {}, {}
  for i = 1, count do
    local at = first + (i - 1) * width
    if is_followed then texts[i] = args[at + 1] end
    if key_at then keys[i], ties[i] = args[at + key_at], args[at + key_at + 1] end
  end
  local held = key_at and ask_to_leave(turn.unique, keys, ties)
  if is_followed then
    ask_to_remove(queue.reserved)
    ask_to_take_back(queue)
    call('RPUSH', queue.ready, unpack(texts))
    queue.filled = true
  end
  for i = 1, count do
    results[i] = redis.pcall('ZREM', queue.reserved, args[first + (i - 1) * width])
    if is_followed and results[i] ~= 1 then redis.pcall('LREM', queue.ready, -1, texts[i]) end
  end
  free(turn.unique, held, results)
  return results
end

-- Settles `count` outcomes of a kind, whose arguments begin at `first`. Returns the same as `settle` in settle.lua.
local function end_completed(turn, queue, kind, first, count)
  local is_followed, is_unique = find(kind, '+next', 1, true), find(kind, '+unique', 1, true)
  local key_at = is_unique and (is_followed and 2 or 1)
  local width = 1 + (is_followed and 1 or 0) + (is_unique and 2 or 0) + (find(kind, '+lane', 1, true) and 1 or 0)
  local done, results = pcall(end_each, turn, queue, first, count, width, is_followed, key_at)
  if done then return first, width, results end
  local refusals = {}
  for i = 1, count do refusals[i] = results end
  return first, width, refusals
end
