// Streams and events. Every call does its work before it returns, so nothing is ever pending; times are the host's.
#include <cstring>
#include <map>

#include "emulator/runtime/context.hpp"
#include "emulator/runtime/handles.hpp"

using namespace emu::runtime;

namespace emu::runtime {
namespace {

std::set<Stream*>& streams() {
  static auto& all = *new std::set<Stream*>;
  return all;
}

std::set<Event*>& events() {
  static auto& all = *new std::set<Event*>;
  return all;
}

Stream* as_stream(cudaStream_t s) {
  return reinterpret_cast<Stream*>(s);
}
Event* as_event(cudaEvent_t e) {
  return reinterpret_cast<Event*>(e);
}

bool default_stream(cudaStream_t s) {
  return s == nullptr || s == cudaStreamLegacy || s == cudaStreamPerThread;
}

constexpr int kLeastPriority = 0, kGreatestPriority = -5;

cudaError_t create_stream(cudaStream_t* stream, unsigned flags, int priority) {
  return device_call([&](Context&) {
    static unsigned long long next_id = 10;
    if (!stream || (flags & ~static_cast<unsigned>(cudaStreamNonBlocking))) return cudaErrorInvalidValue;
    auto* s = new Stream;
    s->flags = flags;
    s->priority = std::max(kGreatestPriority, std::min(kLeastPriority, priority));
    s->id = next_id++;
    streams().insert(s);
    *stream = reinterpret_cast<cudaStream_t>(s);
    return cudaSuccess;
  });
}

cudaError_t refuse_capture(const char* call) {
  return explain(cudaErrorNotSupported, call, "stream capture and graphs are not emulated",
                 "launch the work directly instead");
}

// f(stream) with the properties of a living or default stream.
template <class F>
cudaError_t with_stream(cudaStream_t stream, F&& f) {
  return host_call([&](Context&) {
    static const Stream legacy;
    if (!valid_stream(stream)) return cudaErrorInvalidResourceHandle;
    return f(default_stream(stream) ? legacy : *as_stream(stream)) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

}  // namespace

bool valid_stream(cudaStream_t stream) {
  std::lock_guard<std::recursive_mutex> lock(Context::instance().mutex);
  return default_stream(stream) || streams().count(as_stream(stream));
}

bool valid_event(cudaEvent_t event) {
  std::lock_guard<std::recursive_mutex> lock(Context::instance().mutex);
  return events().count(as_event(event)) != 0;
}

cudaMemPool_t default_pool() {
  static char pool;
  return reinterpret_cast<cudaMemPool_t>(&pool);
}

}  // namespace emu::runtime

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return create_stream(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return create_stream(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return create_stream(stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return host_call([&](Context&) {
    if (streams().erase(as_stream(stream)) == 0) return cudaErrorInvalidResourceHandle;
    delete as_stream(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return device_call(
      [&](Context&) { return valid_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return cudaStreamSynchronize(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  return device_call([&](Context&) {
    return valid_stream(stream) && valid_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return with_stream(stream, [&](const Stream& s) { return priority && (*priority = s.priority, true); });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  return with_stream(stream, [&](const Stream& s) { return flags && (*flags = s.flags, true); });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return with_stream(stream, [&](const Stream& s) { return id && (*id = s.id, true); });
}

// Windows of the L2 cache and the like change no result.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
  return with_stream(stream, [&](const Stream&) { return value != nullptr; });
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute,
                                   cudaStreamAttrValue* value) {
  return with_stream(stream, [&](const Stream& s) {
    if (!value) return false;
    std::memset(value, 0, sizeof *value);
    if (attribute == cudaLaunchAttributePriority) value->priority = s.priority;
    return true;
  });
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return valid_stream(to) && valid_stream(from) ? cudaSuccess : remember(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return host_call([&](Context&) {
    if (least) *least = kLeastPriority;
    if (greatest) *greatest = kGreatestPriority;
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return device_call([&](Context&) {
    if (!valid_stream(stream)) return cudaErrorInvalidResourceHandle;
    if (!function) return cudaErrorInvalidValue;
    function(data);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int flags) {
  return device_call([&](Context&) {
    if (!valid_stream(stream)) return cudaErrorInvalidResourceHandle;
    if (!callback || flags != 0) return cudaErrorInvalidValue;
    callback(stream, cudaSuccess, data);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t, unsigned int) {
  return device_call([&](Context& c) {
    if (!valid_stream(stream)) return cudaErrorInvalidResourceHandle;
    return c.memory().find(reinterpret_cast<uint64_t>(pointer), 1) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return device_call([](Context&) { return refuse_capture("cudaStreamBeginCapture"); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
  return device_call([](Context&) { return refuse_capture("cudaStreamEndCapture"); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return with_stream(stream,
                     [&](const Stream&) { return status && (*status = cudaStreamCaptureStatusNone, true); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return device_call([&](Context&) {
    constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (!event || (flags & ~kKnown)) return cudaErrorInvalidValue;
    auto* e = new Event;
    e->flags = flags;
    events().insert(e);
    *event = reinterpret_cast<cudaEvent_t>(e);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return host_call([&](Context&) {
    if (events().erase(as_event(event)) == 0) return cudaErrorInvalidResourceHandle;
    delete as_event(event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return device_call([&](Context&) {
    if (!valid_event(event) || !valid_stream(stream)) return cudaErrorInvalidResourceHandle;
    as_event(event)->recorded = true;
    as_event(event)->time = std::chrono::steady_clock::now();
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return device_call(
      [&](Context&) { return valid_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return cudaEventSynchronize(event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return device_call([&](Context&) {
    if (!milliseconds) return cudaErrorInvalidValue;
    if (!valid_event(start) || !valid_event(end)) return cudaErrorInvalidResourceHandle;
    const Event &a = *as_event(start), &b = *as_event(end);
    if (!a.recorded || !b.recorded || ((a.flags | b.flags) & cudaEventDisableTiming))
      return cudaErrorInvalidResourceHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(b.time - a.time).count();
    return cudaSuccess;
  });
}

}  // extern "C"

EMU_PER_THREAD(cudaStreamSynchronize, _ptsz)
EMU_PER_THREAD(cudaStreamQuery, _ptsz)
EMU_PER_THREAD(cudaStreamWaitEvent, _ptsz)
EMU_PER_THREAD(cudaStreamGetPriority, _ptsz)
EMU_PER_THREAD(cudaStreamSetAttribute, _ptsz)
EMU_PER_THREAD(cudaStreamGetAttribute, _ptsz)
EMU_PER_THREAD(cudaStreamCopyAttributes, _ptsz)
EMU_PER_THREAD(cudaStreamGetFlags, _ptsz)
EMU_PER_THREAD(cudaStreamGetId, _ptsz)
EMU_PER_THREAD(cudaLaunchHostFunc, _ptsz)
EMU_PER_THREAD(cudaStreamAddCallback, _ptsz)
EMU_PER_THREAD(cudaStreamAttachMemAsync, _ptsz)
EMU_PER_THREAD(cudaStreamBeginCapture, _ptsz)
EMU_PER_THREAD(cudaStreamEndCapture, _ptsz)
EMU_PER_THREAD(cudaStreamIsCapturing, _ptsz)
EMU_PER_THREAD(cudaEventRecord, _ptsz)
EMU_PER_THREAD(cudaEventRecordWithFlags, _ptsz)
