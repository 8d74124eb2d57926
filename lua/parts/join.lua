-- join.lua: lets pushed jobs join their batch, and begins a batch.
--
--   after take.lua, batches.lua
--
--   The last argument is the number of arguments before it that describe the batch: its id; the weight of all entries
--   together, and of each; and if it begins, its name, whether it allows failures ('1'), for how many seconds each call
--   keeps it open (0: it is not), after how many jobs it reports progress (0: never), and for each job that it sends:
--   event, delay, head, id.

-- A new batch. `first`: the place of its name among the arguments.
local function new_batch(id, first, callback_keys, moment)
  local name, allows, open_for, every = unpack(ARGV, first, first + 3)
  open_for = math.floor(tonumber(open_for) * 1000000)
  local batch = {
    id = id, pending = 0, completed = 0, failed = 0, skipped = 0, begun = moment, cancelled = 0, finished = 0,
    open_for = open_for, open_until = open_for > 0 and moment + open_for or 0, every = tonumber(every),
    allows = allows == '1', told = '', name = name, callbacks = {},
  }
  for at = first + 4, #ARGV - 1, 4 do
    local on, delay, head, callback_id = unpack(ARGV, at, at + 3)
    local ready, delayed, notify = unpack(KEYS, callback_keys, callback_keys + 2)
    callback_keys = callback_keys + 3
    batch.callbacks[#batch.callbacks + 1] = { on, ready, delayed, notify, delay, head, callback_id }
  end
  return batch
end

-- The weight without the refused entries, whose places are in `refused`.
local function weight_inside(weight, weights, refused)
  if not refused then return tonumber(weight) end
  local place, sum = 0, 0
  for one in string.gmatch(weights, '%d+') do
    place = place + 1
    if not refused[place] then sum = sum + one end
  end
  return sum
end

-- What to write for the batch, or `why` it takes no more jobs. Also returns the place of the last argument of the last
-- entry. `callback_keys`: the place of the first key of the jobs that a new batch sends. `may_skip`: if the batch was
-- cancelled, but is open, the entries count as skipped, and none may be written (`is_skipped`).
local function prepare_to_join(batches, cancelled_batches, callback_keys, refused, moment, may_skip)
  local first = #ARGV - tonumber(ARGV[#ARGV])
  local id, weight, weights = unpack(ARGV, first, first + 2)
  local is_new = first + 3 < #ARGV
  local batch = is_new and new_batch(id, first + 3, callback_keys, moment) or batch_of(batches, id)
  local why = not is_new and end_of(batch)
  local is_skipped = may_skip and why == 'cancelled' and batch.open_until > 0
  if is_skipped then
    local step = step_of(batches, cancelled_batches, batch, { skipped = tonumber(weight) }, moment)
    step.is_skipped = true
    return step, first - 1
  end
  if why then return { why = why } end
  if batch.open_until > 0 then batch.open_until = moment + batch.open_for end
  local pending = weight_inside(weight, weights, refused)
  local step = step_of(batches, cancelled_batches, batch, { pending = pending }, moment)
  if is_new then
    local fields = step.fields
    step.is_new = true
    fields[3], fields[4] = id .. ':name', batch.name
    fields[5], fields[6] = id .. ':callbacks', cmsgpack.pack(batch.callbacks)
  end
  return step, first - 1
end

-- Writes what was prepared, takes the free unique keys, and returns the function that writes the jobs. If any of this
-- is refused, the batch is restored.
local function join_batch(step, begun_batches, ready, unique, keys)
  local function guarded(write, ...)
    local done, result = pcall(write, ...)
    if done then return result end
    take_back(step)
    if step.is_new then redis.pcall('ZREM', begun_batches, step.id) end
    error(result)
  end
  if step.is_new then
    ask_to_remove(begun_batches)
    call('ZADD', begun_batches, 'XX', 0, nobody())
  end
  guarded(write_step, step)
  if step.is_new then guarded(call, 'ZADD', begun_batches, score(step.moment), step.id) end
  local write = keys and guarded(take, unique, keys, ready) or call
  return function(...) guarded(write, ...) end
end
