"""Times of kernels and feature maps on a GPU, next to a bare matrix product of the same size.

python tests/slow_checks/on_a_gpu.py [points]"""

if __name__ == "__main__":
    import sys

    import torch
    from torch.utils.benchmark import Timer

    from invariance import beyond, features, groups, kernels

    device = "cuda" if torch.cuda.is_available() else "cpu"
    n = int((*sys.argv, 20_000)[1])
    print(torch.cuda.get_device_name() if device == "cuda" else device, n, "points of 784 pixels")
    shifts = groups.Translations((28, 28), max_shift=3)
    kinds = features.OrbitFourier, features.OrbitNystroem, beyond.MaxFilter, features.GroupCDF
    maps = [kind(shifts, 500, random_state=0) for kind in kinds]
    for dtype in (torch.float32, torch.float64):
        X = torch.rand(n, 784, dtype=dtype, device=device)
        jobs = [(k, k, n) for k in (kernels.Gaussian(0.01), kernels.Polynomial(4), kernels.CDF())]
        fitted = [(m, m.fit(X.cpu().numpy()[:2000]).transform, 49 * 500) for m in maps]
        for model, job, width in jobs + fitted:
            Y = torch.rand(784, width, dtype=dtype, device=device)
            timers = [Timer("f(X)", globals={"f": f, "X": X}) for f in (job, Y.__rmatmul__)]
            ours, bare = (1e3 * timer.blocked_autorange().median for timer in timers)
            print(f"{dtype} {type(model).__name__} {ours:.1f} ms, {ours / bare:.2f} products")
