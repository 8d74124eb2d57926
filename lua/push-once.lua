-- push-once.lua: put a payload into a queue, unless one was put there under this key before.
--
--   parts    texts unique ties take debounce batches join
--
--   KEYS[1] mark        string  which call pushed under the key, and its answer; expires at `ending`
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] notify      list    wake-up hints
--   KEYS[5] unique      hash    unique key -> its holder, and key of a debounced job -> the job that waits
--                               Only with a batch that the payload belongs to:
--   KEYS[6] batches     hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[7] begun_batches       zset  id of a batch -> when it began (s)
--   KEYS[8] cancelled_batches   zset  id of a cancelled batch that has not finished -> when it was cancelled (s)
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] call_id     string  unique to this call: identifies a repeat
--   ARGV[3] ending      number  seconds since 1970: until when it may be pushed
--   ARGV[4] count       number  from here on as in push.lua, with one entry
--   ARGV[5] tied        number
--   ARGV[6] debounced   number
--   ARGV[7..] entries
--
--   returns  {'queued', replaced} | {'held', holder} | {'before'} | {'late'} | {'ended', why}
--            (only 'queued' adds a job; 'before', 'late' and 'ended' write nothing)
--            replaced: the id of the job that it replaced, if any; holder: the id of the job that holds its unique key
--   keeps    I1 I5 I6 I12 I13 I14 I17
--   cost     O(1) for a ready entry, O(log n) for a delayed one

local mark, ready, delayed, notify, unique = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local batches, begun_batches, cancelled_batches = KEYS[6], KEYS[7], KEYS[8]
local call_id, ending = ARGV[2], math.floor(tonumber(ARGV[3]) * 1000000)
local count, tied, debounced = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local FIRST_TIE, callback_keys = 7, 9

local pushed, own = call('GET', mark), call_id .. ' '
if pushed and sub(pushed, 1, #own) == own then return cmsgpack.unpack(sub(pushed, #own + 1)) end
local moment = clock()
if ending <= moment then return { 'late' } end
if pushed then return { 'before' } end

-- Everything that can be refused is checked first: a key of another type, a missing right.
local hints = call('LLEN', notify)
local first_debounced = tied > 0 and FIRST_TIE + 1 + 2 * tied or FIRST_TIE
local first_entry = first_debounced + 3 * debounced
local keys = tied > 0 and look_up(unique, FIRST_TIE, tied)
local put = debounced > 0
  and put_off(unique, delayed, first_debounced, debounced, count, first_entry + count, moment)
local joining = batches and prepare_to_join(batches, cancelled_batches, callback_keys, keys and keys.refused, moment)
if joining and joining.why then return { 'ended', joining.why } end

local function keep(answer)
  call('SET', mark, own .. cmsgpack.pack(answer), 'PX', math.ceil((ending - moment) / 1000))
  return answer
end

if keys and keys.refused then return keep({ 'held', keys.held[2] }) end

local due, payload = moment, ARGV[first_entry]
if count == 0 then due, payload = due_at(moment, ARGV[first_entry + 1]), ARGV[first_entry + 2] end
if put then due = put.plans[1].due end
local comes_first = due > moment and call('ZCOUNT', delayed, '-inf', '(' .. score(due)) == 0
if due > moment then call('ZADD', delayed, 'XX', 0, nobody()) else call('LLEN', ready) end

local function put_in()
  local write = joining and join_batch(joining, begun_batches, ready, unique, keys)
    or keys and take(unique, keys, ready) or call
  if put then write = wait_under(unique, put, write) end
  if due > moment then write('ZADD', delayed, score(due), payload) else write('RPUSH', ready, payload) end
end

-- Written before the job, which would be pushed again if the mark were refused; removed if the job is refused.
local answer = keep({ 'queued', put and put.replaced[2] or nil })
local done, problem = pcall(put_in)
if not done then
  redis.pcall('DEL', mark)
  error(problem)
end
if put then remove_replaced(unique, put, delayed) end

-- One hint is enough: whoever takes it leaves another one as long as there is work.
if hints == 0 and (due <= moment or comes_first) then redis.pcall('RPUSH', notify, '1') end
return answer
